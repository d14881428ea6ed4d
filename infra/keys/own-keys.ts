import { Aspects, type IAspect } from "aws-cdk-lib";
import { type IKey, Key } from "aws-cdk-lib/aws-kms";
import { CfnLogGroup } from "aws-cdk-lib/aws-logs";
import type { Construct, IConstruct } from "constructs";
import type { Settings } from "../settings.ts";

/** The keys of the deployment's own account that encrypt what is stored. Default: keys of AWS. */
export interface OwnKeys {
  readonly database?: IKey;
  readonly queues?: IKey;
  readonly secrets?: IKey;
}

/**
 * The keys that the settings name, and the key of every log below the construct. A function that
 * reads a secret or uses a queue gets its rights on the key with the grant on that resource; the
 * policies of the keys are their owner's.
 */
export function ownKeys(scope: Construct, settings: Settings): OwnKeys {
  const { databaseKeyArn, queueKeyArn, secretKeyArn, logKeyArn } = settings;
  if (logKeyArn !== undefined) Aspects.of(scope).add(new EncryptedLogs(logKeyArn));
  const key = (id: string, arn: string | undefined) =>
    arn === undefined ? undefined : Key.fromKeyArn(scope, id, arn);
  const database = key("DatabaseKey", databaseKeyArn);
  const queues = key("QueueKey", queueKeyArn);
  const secrets = key("SecretKey", secretKeyArn);
  return {
    ...(database && { database }),
    ...(queues && { queues }),
    ...(secrets && { secrets }),
  };
}

/** Also of the logs that the CDK makes for its own functions. Only CloudWatch Logs uses the key. */
class EncryptedLogs implements IAspect {
  readonly #keyArn: string;

  constructor(keyArn: string) {
    this.#keyArn = keyArn;
  }

  visit(node: IConstruct): void {
    if (node instanceof CfnLogGroup) node.kmsKeyId = this.#keyArn;
  }
}
