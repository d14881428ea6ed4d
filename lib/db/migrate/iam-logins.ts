import type { Tx } from "../connect.ts";
import { lockLogins } from "../locks.ts";

/**
 * The roles that the migrations make, one for each function that queries. `carillon_handler` is the
 * role of the worker that runs handlers: it may edit schedules too.
 */
export const functionRoles = [
  "carillon_tick",
  "carillon_worker",
  "carillon_handler",
  "carillon_ingest",
  "carillon_api",
  "carillon_archive",
] as const;

export type FunctionRole = (typeof functionRoles)[number];

/**
 * Lets the functions' roles log in by IAM tokens alone: a member of RDS's role `rds_iam` cannot use
 * a password.
 */
export async function grantIamLogins(tx: Tx, idleSessions: IdleSessions): Promise<void> {
  await lockLogins(tx);
  for (const role of functionRoles) {
    await tx`grant rds_iam to ${tx(role)}`;
    await letIn(tx, role, idleSessions);
  }
}

/**
 * Whether the server closes idle sessions of functions. Lambda freezes an environment with its
 * connections open and may drop it hours later. Functions use no connection that idled for 30 s, so
 * the server may close it. The sessions of a proxy are shared, and the proxy closes idle ones by
 * itself.
 */
export type IdleSessions = "closed" | "kept";

export async function letIn(tx: Tx, role: FunctionRole, idleSessions: IdleSessions): Promise<void> {
  const [database] = await tx<{ name: string }[]>`select current_database() as name`;
  if (database === undefined) throw new Error("The database returned no name.");
  await tx`alter role ${tx(role)} login`;
  const inDatabase = tx`alter role ${tx(role)} in database ${tx(database.name)}`;
  if (idleSessions === "closed") await tx`${inDatabase} set idle_session_timeout = '60s'`;
  else await tx`${inDatabase} reset idle_session_timeout`;
}
