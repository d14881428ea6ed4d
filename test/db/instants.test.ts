import { afterAll, beforeAll, expect, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";

let database: TestDatabase;
let sql: Sql;
beforeAll(async () => {
  database = await testDatabase();
  sql = connect({ DATABASE_URL: database.url });
});
afterAll(async () => {
  await sql.end();
  await database.drop();
});

test.each([
  ["2026-03-02T10:00:00.123Z", "2026-03-02T10:00:00.123Z"],
  ["0100-01-01T00:00:00Z", "0100-01-01T00:00:00.000Z"],
  ["infinity", "9999-12-31T23:59:59.999Z"],
  ["200000-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z"],
  ["-infinity", "0100-01-01T00:00:00.000Z"],
  ["0026-03-02T10:00:00Z", "0100-01-01T00:00:00.000Z"],
  ["4000-01-01 BC", "0100-01-01T00:00:00.000Z"],
])(
  "An instant of the database (%s) is read as one that JavaScript and JSON can write (%s)",
  async (stored, read) => {
    const [row] =
      await sql`select ${stored}::text::timestamptz as one, array[${stored}::text::timestamptz] as many`;
    const at = new Date(read);
    expect(row).toEqual({ one: at, many: [at] });
    expect(await sql`select ${at}::timestamptz as again`).toEqual([{ again: at }]);
  },
);
