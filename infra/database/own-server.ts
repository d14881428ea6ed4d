import type { ISecret } from "aws-cdk-lib/aws-secretsmanager";
import type { IConstruct } from "constructs";
import { acknowledge } from "../watch/acknowledge.ts";

/** The port of a server that is made here, of either kind. */
export const ownPort = 5432;

/** The secret of the master user, which RDS makes and rotates. */
export function managedSecretOf({ secret }: { readonly secret?: ISecret }): ISecret {
  if (secret === undefined) throw new Error("The database has no managed secret for its master user.");
  return secret;
}

/** The reason for allowing the deletion of a server, where the settings allow it. */
export function acknowledgeUnprotected(server: IConstruct, databaseProtected: boolean): void {
  if (databaseProtected) return;
  acknowledge(
    server,
    "RDS10",
    "databaseProtected is off, for a deployment that will be removed. A snapshot remains.",
  );
}
