import type { Tx } from "./connect.ts";

/** The roles that the migrations make, one for each function that queries; the worker that runs handlers may edit schedules too. */
export const functionRoles = [
  "carillon_tick",
  "carillon_worker",
  "carillon_handler",
  "carillon_ingest",
  "carillon_api",
] as const;

/** Lets the functions' roles log in, by IAM tokens and nothing else: whoever is in RDS's role `rds_iam` has no use for a password. */
export async function grantIamLogins(tx: Tx): Promise<void> {
  for (const role of functionRoles) {
    await tx`alter role ${tx(role)} login`;
    await tx`grant rds_iam to ${tx(role)}`;
  }
}
