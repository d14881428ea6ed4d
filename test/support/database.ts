import { randomBytes } from "node:crypto";
import postgres from "postgres";
import { inject } from "vitest";

/** What a test's database is a clone of: empty, migrated, or migrated with a clock that stands still on the tests' Monday. */
export const templates = {
  empty: "template1",
  migrated: "carillon_migrated",
  still: "carillon_still",
} as const;

export interface TestDatabase {
  url: string;
  name: string;
  /** Leave it out when a test has failed: the database then stays for a look until the run ends. */
  drop(): Promise<void>;
}

/** A database of its own, which takes some 20 ms to clone; with every migration applied unless it is to be empty. */
export async function testDatabase(of: keyof typeof templates = "migrated"): Promise<TestDatabase> {
  const serverUrl = inject("postgresUrl");
  const name = `test_${randomBytes(6).toString("hex")}`;
  await administer(
    serverUrl,
    (sql) => sql`create database ${sql(name)} template ${sql(templates[of])} strategy file_copy`,
  );
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    name,
    drop: () => administer(serverUrl, (sql) => sql`drop database if exists ${sql(name)} with (force)`),
  };
}

async function administer(url: string, act: (sql: postgres.Sql) => PromiseLike<unknown>): Promise<void> {
  const sql = postgres(url, { max: 1 });
  try {
    await act(sql);
  } finally {
    await sql.end();
  }
}
