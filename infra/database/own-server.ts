import type { ISecret } from "aws-cdk-lib/aws-secretsmanager";
import type { IConstruct } from "constructs";
import { acknowledge } from "../watch/acknowledge.ts";

/** Where a server of our own listens, whatever kind it is. */
export const ownPort = 5432;

/** The secret of the master user, which RDS makes and rotates. */
export function managedSecretOf({ secret }: { readonly secret?: ISecret }): ISecret {
  if (secret === undefined) throw new Error("The database has no managed secret for its master user.");
  return secret;
}

/** Why a server may be deleted, where it may. */
export function acknowledgeUnprotected(server: IConstruct, databaseProtected: boolean): void {
  if (databaseProtected) return;
  acknowledge(
    server,
    "RDS10",
    "databaseProtected is switched off, for a deployment that is to be removed. A snapshot stays.",
  );
}
