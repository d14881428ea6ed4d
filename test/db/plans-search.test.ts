import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import {
  jobSearch,
  jobSearches,
  scheduleCount,
  scheduleSearch,
  scheduleSearches,
} from "../bench/searches.ts";
import { seedSearch } from "../bench/seed-search.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { touched } from "../support/touched.ts";

const schedules = 200_000;

/** Tables too large for a page to read from the beginning. */
const large =
  /^(jobs|plan|dead_jobs)_\d+$|^(schedules|schedule_versions|schedule_tags|parcels|plan_far|holds|audit)$/;

let database: TestDatabase;
let owner: Sql;
let sql: Sql;

beforeAll(async () => {
  database = await testDatabase();
  owner = connect({ DATABASE_URL: database.url }, { max: 1 });
  await seedSearch(owner, { schedules, jobs: 60_000 });
  await owner`analyze`;
  sql = connect({ DATABASE_URL: database.url }, { max: 1 });
  await sql`set jit = off`;
}, 180_000);

afterAll(async () => {
  await sql.end();
  await owner.end();
  await database.drop();
});

/** The largest number of entries read from any one index or table. */
async function mostRead(act: () => Promise<unknown>): Promise<number> {
  const { scanned, index } = await touched(sql, act);
  const tables = Object.entries(scanned).flatMap(([name, read]) => (large.test(name) ? [read] : []));
  const indexes = Object.entries(index).flatMap(([name, read]) => (name.startsWith("shards") ? [] : [read]));
  return Math.max(0, ...tables, ...indexes);
}

/**
 * The limit of entries read from one index for a page of 50, if it is more than a few for each
 * item.
 */
const bounds: Readonly<Record<string, number>> = {
  // Four statements read 200, 1,000, 4,000 and 15,000; all schedules whose keys begin with an `a`
  // have ended.
  active: 21_000,
  "next of a rare target": 21_000,
  "kind of many targets": 12_000,
  // More rows than this are not sorted.
  "common creator": 5_500,
  "rare creator": 1_000,
  "common calendar": 5_500,
  "rare calendar": 1_000,
  // Fewer are read, since each is looked up among the dead jobs.
  failing: 6_000,
  "failing of a tag": 8_000,
  // Three pairs of statements read 500, 2,000 and 20,000: the first of each finds where the second
  // stops. For schedules that are not listed the last pair reads 7,500.
  "succeeded jobs": 4_000,
  "cancelled jobs": 46_000,
  "jobs of a rare target": 21_000,
  "jobs of a tag, an hour": 21_000,
  // All open jobs, since there are few.
  "waiting jobs": 6_000,
  "retrying jobs": 6_000,
};

describe("a page of schedules and the next one read no more than their limit", () => {
  test.each(Object.entries(scheduleSearches))("%s", async (name, filter) => {
    let next: string | undefined;
    const most = bounds[name] ?? 2_000;
    expect(
      await mostRead(async () => {
        ({ next } = await scheduleSearch(sql, filter));
      }),
    ).toBeLessThan(most);
    if (next !== undefined)
      expect(await mostRead(() => scheduleSearch(sql, filter, next))).toBeLessThan(most);
  });
});

describe("a page of jobs and the next one read no more than their limit", () => {
  test.each(Object.entries(jobSearches))("%s", async (name, filter) => {
    let next: Awaited<ReturnType<typeof jobSearch>>["next"];
    const most = bounds[name] ?? 2_500;
    expect(
      await mostRead(async () => {
        ({ next } = await jobSearch(sql, filter));
      }),
    ).toBeLessThan(most);
    if (next !== undefined) expect(await mostRead(() => jobSearch(sql, filter, next))).toBeLessThan(most);
  });
});

describe("a count of schedules", () => {
  test.each(Object.entries(scheduleSearches))("a count of schedules is bounded: %s", async (_, filter) => {
    let count = 0;
    const read = await mostRead(async () => {
      ({ count } = await scheduleCount(sql, filter));
    });
    expect(count).toBeLessThanOrEqual(10_000);
    expect(read).toBeLessThan(60_000);
  });
});

test("a page far into the schedules of a group, a tag or a target reads no rows before its first", async () => {
  for (const filter of [{ group: "huge" }, { tag: "common" }, { target: "queue/bench" }])
    expect(await mostRead(() => scheduleSearch(sql, filter, "s:c"))).toBeLessThan(1_500);
});
