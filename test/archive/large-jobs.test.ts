import { gunzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, test } from "vitest";
import { partOf } from "../../lib/archive/part.ts";
import { type ArchivedJob, readDay } from "../../lib/archive/read-day.ts";
import type { JobKey } from "../../lib/job/job-id.ts";
import { type Carillon, carillon } from "../support/carillon.ts";

/**
 * A job with a payload of its own may have 240 KB. A limit in bytes bounds how many of them the
 * archive reads at a time.
 */

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const monday = "2026-03-02";
const kilobyte = 1_024;

/** Finished jobs, each with a payload of this number of bytes, which Postgres can compress. */
const jobs = (count: number, bytes: number) => world.sql`
  insert into carillon.jobs (occurrence, schedule_id, due_at, version, state, reason, finished_at, payload)
  select d, n, d, 1, 'cancelled', 'command', d, to_jsonb(repeat('x', ${bytes}))
  from generate_series(1, ${count}::int) n, lateral (select ${`${monday}T10:00:00Z`}::timestamptz + n * interval '1 second' as d) d`;

const bytesOf = (page: readonly ArchivedJob[]) =>
  page.reduce((sum, job) => sum + Buffer.byteLength(JSON.stringify(job)), 0);

/** The sizes of the pages in which a day is read. */
async function pages(bounds: { jobs: number; bytes: number }): Promise<{ jobs: number; bytes: number }[]> {
  const read: { jobs: number; bytes: number }[] = [];
  for (let after: JobKey | null = null; ; ) {
    const page: ArchivedJob[] = await readDay(world.sql, monday, after, bounds);
    const last = page.at(-1);
    if (last === undefined) return read;
    read.push({ jobs: page.length, bytes: bytesOf(page) });
    after = last;
  }
}

test("a page of large jobs ends behind the job that reaches its limit in bytes", async () => {
  await jobs(60, 240 * kilobyte);
  const read = await pages({ jobs: 500, bytes: 1_000 * kilobyte });
  expect(Math.max(...read.map(({ bytes }) => bytes))).toBeLessThan(1_250 * kilobyte);
  expect(read.map((page) => page.jobs)).toEqual(Array(12).fill(5));
});

test("a page of small jobs ends at its limit of jobs, and a job that is larger than a page is a page of its own", async () => {
  await jobs(10, 10);
  expect((await pages({ jobs: 4, bytes: kilobyte })).map((page) => page.jobs)).toEqual([4, 4, 2]);
  expect((await pages({ jobs: 4, bytes: 1 })).map((page) => page.jobs)).toEqual(Array(10).fill(1));
});

test("attempts and errors count towards the size of a page as payloads do", async () => {
  await world.sql`
    insert into carillon.jobs (occurrence, schedule_id, due_at, started_at, version, state, attempt, reason, error, finished_at)
    select d, n, d, d, 1, 'dead', 1, 'attempts', repeat('e', 1024), d
    from generate_series(1, 10) n, lateral (select ${`${monday}T10:00:00Z`}::timestamptz + n * interval '1 second' as d) d`;
  await world.sql`
    insert into carillon.attempts (occurrence, schedule_id, kind, n, attempt, started_at, finished_at, outcome, error)
    select occurrence, schedule_id, kind, n, 1, due_at, due_at, 'failed', repeat('e', 1024) from carillon.jobs`;
  expect((await pages({ jobs: 500, bytes: 4 * kilobyte })).map((page) => page.jobs)).toEqual(
    Array(5).fill(2),
  );
});

test("a part has every job of the day once, for any sizes of its pages", async () => {
  await jobs(70, 240 * kilobyte);
  const part = await partOf(world.sql, monday, null, { jobs: 1_000, bytes: 1_000_000 * kilobyte });
  const lines = gunzipSync(part?.body ?? "")
    .toString()
    .trimEnd()
    .split("\n");
  const ids = lines.map((line): string => JSON.parse(line).scheduleId);
  expect(ids).toEqual(Array.from({ length: 70 }, (_, index) => String(index + 1)));
});
