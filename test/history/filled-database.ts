import { afterAll, beforeAll } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";

/** A database for the tests of a `describe`, filled once, whose plans are those with or without statistics. */
export function filledDatabase(
  fill: (sql: Sql) => Promise<void>,
  { isAnalyzed }: { isAnalyzed: boolean },
): () => Sql {
  let database: TestDatabase;
  let sql: Sql;

  beforeAll(async () => {
    database = await testDatabase();
    sql = connect({ DATABASE_URL: database.url }, { max: 1 });
    await fill(sql);
    await sql`set jit = off`;
    if (isAnalyzed) await sql`vacuum analyze`;
  });

  afterAll(async () => {
    await sql.end();
    await database.drop();
  });

  return () => sql;
}
