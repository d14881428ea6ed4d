import { randomBytes } from "node:crypto";
import { inject } from "vitest";
import { serverConnection } from "./server-connection.ts";

/**
 * The templates of a test's database: empty, migrated, or migrated with a clock that stands still
 * on the tests' Monday.
 */
export const templates = {
  empty: "template1",
  migrated: "carillon_migrated",
  still: "carillon_still",
} as const;

export interface TestDatabase {
  url: string;
  /**
   * The URL for a Unix socket, on which each statement takes a quarter less time. Only `connect`
   * understands it.
   */
  socketUrl: string;
  name: string;
  /** Not called after a failed test, so that its database can be inspected until the run ends. */
  drop(): Promise<void>;
}

/**
 * A database for one test, which takes about 20 ms to clone. Every migration is applied unless it
 * is to be empty. It can also be a copy of another test database, statistics included, to which no
 * connection may be open.
 */
export async function testDatabase(
  of: keyof typeof templates | TestDatabase = "migrated",
): Promise<TestDatabase> {
  const template = typeof of === "string" ? templates[of] : of.name;
  const name = `test_${randomBytes(6).toString("hex")}`;
  const server = await serverConnection();
  await server`create database ${server(name)} template ${server(template)} strategy file_copy`;
  const within = (serverUrl: string) => Object.assign(new URL(serverUrl), { pathname: `/${name}` }).href;
  return {
    url: within(inject("postgresUrl")),
    socketUrl: within(inject("postgresSocketUrl")),
    name,
    drop: async () => {
      const sql = await serverConnection();
      await sql`drop database if exists ${sql(name)} with (force)`;
    },
  };
}
