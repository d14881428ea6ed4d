import { Annotations, CfnResource } from "aws-cdk-lib";
import { type ISecret, Secret } from "aws-cdk-lib/aws-secretsmanager";
import type { IConstruct } from "constructs";
import type { OwnKeys } from "../keys/own-keys.ts";
import { acknowledge } from "../watch/acknowledge.ts";

/** The port of a server that is made here, of either kind. */
export const ownPort = 5432;

/** The encryption of a server's storage, with a key of the deployment's own account or that of RDS. */
export function encryptedStorage({ database }: OwnKeys) {
  return { storageEncrypted: true, ...(database && { storageEncryptionKey: database }) };
}

/**
 * The logs that RDS exports to CloudWatch. RDS makes their log groups, which have the server's identifier
 * in their names; CloudFormation chooses it, so the template cannot make them first.
 */
export function exportedLogs(databaseLogs: boolean) {
  return databaseLogs ? { cloudwatchLogsExports: ["postgresql", "iam-db-auth-error"] } : {};
}

/**
 * Performance Insights with the seven days that cost nothing. A key of the deployment's own may replace the
 * database where it is added later, so RDS uses its own key.
 */
export const insights = { enablePerformanceInsights: true } as const;

/** A server with the secret of its master user. */
interface Server extends IConstruct {
  readonly secret?: ISecret;
}

/** The secret of the master user, which RDS makes and rotates. Its readers may use its key, too. */
export function managedSecretOf(server: Server, { secrets }: OwnKeys): ISecret {
  const { secret } = server;
  if (secret === undefined) throw new Error("The database has no managed secret for its master user.");
  if (secrets === undefined) return secret;
  const resource = server.node.defaultChild;
  if (!CfnResource.isCfnResource(resource)) throw new Error("The database has no resource of its own.");
  // The CDK takes this key only where a server is made of a snapshot.
  resource.addPropertyOverride("MasterUserSecret.KmsKeyId", secrets.keyArn);
  return Secret.fromSecretAttributes(server, "OwnersSecret", {
    secretCompleteArn: secret.secretArn,
    encryptionKey: secrets,
  });
}

/**
 * The reason for allowing the deletion of a server, where the settings allow it, and a reminder at each
 * synthesis: a deployment that was made for the first time is easily left that way.
 */
export function acknowledgeUnprotected(server: IConstruct, databaseProtected: boolean): void {
  if (databaseProtected) return;
  Annotations.of(server).addInfo(
    "databaseProtected is false: neither the database nor the stack is protected from deletion. Once the first deployment has succeeded, deploy again without this setting. Give alarmTopicArn and ticketTopicArn from then on: the alarms on missing ticks and canaries are raised until the first ones have run.",
  );
  acknowledge(
    server,
    "RDS10",
    "databaseProtected is off, for a first deployment or one that will be removed. A snapshot remains.",
  );
}
