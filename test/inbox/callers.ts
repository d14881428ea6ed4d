import { randomBytes } from "node:crypto";
import { connect, type Sql } from "../../lib/db/connect.ts";

/**
 * A login that shares the database, under a name of its own, because roles belong to the whole
 * server.
 */
export interface CallerLogin {
  role: string;
  sql: Sql;
}

export async function callerLogin(owner: Sql, databaseUrl: string): Promise<CallerLogin> {
  const role = `caller_${randomBytes(4).toString("hex")}`;
  await owner.unsafe(`create role ${role} login password 'test' in role carillon_caller`);
  const url = new URL(databaseUrl);
  url.username = role;
  url.password = "test";
  return { role, sql: connect({ DATABASE_URL: url.href }, { max: 2 }) };
}
