import { randomBytes } from "node:crypto";
import { connect, type Sql } from "../../lib/db/connect.ts";

export type FunctionRole =
  | "carillon_tick"
  | "carillon_worker"
  | "carillon_handler"
  | "carillon_ingest"
  | "carillon_api"
  | "carillon_archive";

/**
 * Roles belong to the whole server, so a test's login is a member of a function's role with a name
 * of its own.
 */
export async function connectAsMember(
  owner: Sql,
  databaseUrl: string,
  role: FunctionRole,
  max = 3,
): Promise<Sql> {
  const name = `${role}_${randomBytes(4).toString("hex")}`;
  await owner.unsafe(`create role ${name} login password 'test' in role ${role}`);
  const url = new URL(databaseUrl);
  url.username = name;
  url.password = "test";
  return connect({ DATABASE_URL: url.href }, { max });
}

/** Connections whose functions have only the rights that they have in production. */
export async function functionRoles(
  owner: Sql,
  databaseUrl: string,
): Promise<{ tick: Sql; worker: Sql; api: Sql }> {
  return {
    tick: await connectAsMember(owner, databaseUrl, "carillon_tick"),
    worker: await connectAsMember(owner, databaseUrl, "carillon_worker"),
    api: await connectAsMember(owner, databaseUrl, "carillon_api"),
  };
}
