import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { latenessOf, summarize } from "../../lib/stats/lateness.ts";
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

async function bucketsOf(lates: readonly number[]): Promise<number[]> {
  const rows = await sql<{ bucket: number }[]>`
    select carillon.lateness_bucket(l * interval '1 millisecond') as bucket from unnest(${[...lates]}::bigint[]) with ordinality l (l, n) order by n`;
  return rows.map(({ bucket }) => bucket);
}

test("The lateness read from a bucket is off by a twentieth at most, or by a millisecond of rounding", async () => {
  const lates = [...fc.sample(fc.integer({ min: 0, max: 40 * 86_400_000 }), 2_000), ...Array(2_000).keys()];
  const buckets = await bucketsOf(lates);
  const off = lates.filter(
    (late, index) => Math.abs(latenessOf(buckets[index] ?? -1) - late) > late * 0.05 + 0.6,
  );
  expect(off).toEqual([]);
});

test("A job that started early by the clock of another machine counts as on time", async () => {
  expect(await bucketsOf([-5_000, 0])).toEqual([0, 0]);
});

test("Percentiles are those of all jobs, by nearest rank", () => {
  const jobs = [
    { bucket: 0, jobs: 90 },
    { bucket: 30, jobs: 9 },
    { bucket: 60, jobs: 1 },
  ];
  expect(summarize(jobs)).toEqual({
    jobs: 100,
    p50Ms: 0,
    p95Ms: latenessOf(30),
    p99Ms: latenessOf(30),
    maxMs: latenessOf(60),
  });
  // Buckets come from the database in any order. Read latest first, a late day would look on time.
  expect(summarize(jobs.toReversed())).toEqual(summarize(jobs));
  expect(summarize([])).toEqual({ jobs: 0, p50Ms: null, p95Ms: null, p99Ms: null, maxMs: null });
});
