import { afterEach, beforeEach, expect, test } from "vitest";
import { connect } from "../../lib/db/connect.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";

let database: TestDatabase;

beforeEach(async () => {
  database = await testDatabase();
});

afterEach(() => database.drop());

const open = () => connect({ DATABASE_URL: database.url });
const second = "2026-03-02T10:00:00.000Z";

/** Applies to connections that are opened afterwards. */
async function setForAll(style: string): Promise<void> {
  const sql = open();
  const [{ name } = { name: "" }] = await sql<{ name: string }[]>`select current_database() as name`;
  await sql.unsafe(`alter database ${name} set datestyle = '${style}'`);
  await sql.end();
}

test.each(["German", "SQL, DMY", "Postgres, MDY"])(
  "A connection with the date style %s refuses to read dates",
  async (style) => {
    await setForAll(style);
    const sql = open();
    const read = sql`select timestamptz '2026-03-02 10:00:00+00' as at`;
    await expect(read).rejects.toMatchObject({
      name: "ConnectionLost",
      message: expect.stringMatching(
        /^The connection to the database was lost: its DateStyle is ".*", and Carillon reads dates as ISO alone: set /,
      ),
    });
    await sql.end();
  },
);

test("A connection with the date style ISO, DMY reads dates", async () => {
  await setForAll("ISO, DMY");
  const sql = open();
  const [row] = await sql<{ at: Date }[]>`select ${new Date(second)}::timestamptz as at`;
  expect(row?.at.toISOString()).toBe(second);
  await sql.end();
});

test("A transaction that sets another date style keeps its connection, and later statements read dates as before", async () => {
  const sql = open();
  await sql.begin(async (tx) => {
    await tx`set local datestyle = 'German'`;
    await tx`select 1`;
  });
  const [row] = await sql<{ at: Date }[]>`select ${new Date(second)}::timestamptz as at`;
  expect(row?.at.toISOString()).toBe(second);
  await sql.end();
});
