import { afterEach, beforeEach, expect, test } from "vitest";
import type { Sql } from "../../lib/db/connect.ts";
import { connectThrough } from "../race/lines.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";

let database: TestDatabase;
let sql: Sql;
let now = 0;
const long: number[] = [];

beforeEach(async () => {
  long.length = 0;
  database = await testDatabase("still");
  // Every statement takes a minute of the database's time.
  sql = connectThrough(
    database.url,
    (line) => ({
      ...line,
      run: (statement) => {
        now += 60_000;
        line.run(statement);
      },
    }),
    { watch: { now: () => now, onLong: (ms) => long.push(ms) } },
  );
});

afterEach(() => sql.end());

test("A transaction that waits for the program's own computing for more than a second is reported", async () => {
  await sql.begin(async (tx) => {
    await tx`select 1`;
    now += 700;
    await tx`select 2`;
    now += 800;
  });
  expect(long).toEqual([1_500]);
});

test("The time that the database takes is not the program's own", async () => {
  await sql.begin(async (tx) => {
    await Promise.all([tx`select 1`, tx`select 2`]);
    now += 400;
    await tx`select 3`;
  });
  expect(long).toEqual([]);
});

test("A transaction that fails after long computing is reported too", async () => {
  const failing = sql.begin(async (tx) => {
    await tx`select 1`;
    now += 2_000;
    throw new Error("no");
  });
  await expect(failing).rejects.toThrow("no");
  expect(long).toEqual([2_000]);
});
