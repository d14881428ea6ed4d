import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { archiveLagMs } from "../../lib/retention/archive-lag.ts";
import { dropDays } from "../../lib/retention/drop-days.ts";
import { purge } from "../../lib/retention/purge.ts";
import { readStanding } from "../../lib/stats/standing.ts";
import { oldestTransactionMs } from "../../lib/tick/housekeeping/measure.ts";
import { rollUp } from "../../lib/tick/housekeeping/roll-up.ts";
import { isDue, pendingAfterFiring, pendingBeforeFiring } from "../../lib/tick/pending-work.ts";
import { tickDefaults } from "../../lib/tick/tick.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { recordedLog } from "../support/recorded-log.ts";
import { touched } from "../support/touched.ts";

// The queries of each tick, at any delay and any volume: the alarms' figures, whether a day may be
// dropped, and which schedules are over.

const parcels = 120_000;
const jobs = 150_000;
const schedules = 60_000;
/** One lost pulse a minute: some are past their retention. */
const lostSeconds = 50_000;
/** The minutes with figures of lateness: two days, and a few more than that. */
const lateMinutes = 2_900;
/** How many rows of a table of open work the alarms' figures count; beyond that they say "more". */
const lookedAtMax = 100_001;

const log = recordedLog();
const bounds = {
  timeIsUp: () => false,
  note: (error: unknown) => {
    throw error;
  },
};

let filled: TestDatabase;
let database: TestDatabase;
let sql: Sql;

beforeAll(async () => {
  filled = await testDatabase("still");
  await fill(filled);
}, 120_000);
afterAll(() => filled.drop());

// Each test changes its tables, so each has its own database.
beforeEach(async () => {
  database = await testDatabase(filled);
  sql = connect({ DATABASE_URL: database.url }, { max: 1 });
  // Parallel workers that share a scan read ahead by amounts that depend on the machine's load,
  // which cannot be counted.
  await sql`set max_parallel_workers_per_gather = 0`;
});
afterEach(async () => {
  await sql.end();
  await database.drop();
});

async function fill({ url }: TestDatabase): Promise<void> {
  const sql = connect({ DATABASE_URL: url }, { max: 1 });
  await sql`select carillon.attach_days('2026-02-20', '2026-02-21')`;
  // Triggers that count and record are off for the seed.
  await sql`set session_replication_role = 'replica'`;
  await sql`
    insert into carillon.jobs (occurrence, schedule_id, due_at, parcel_id, version)
    select d, n, d, n, 1 from generate_series(1, ${jobs}::int) n,
      lateral (select '2026-02-20T00:00:00Z'::timestamptz + (n % 80000) * interval '1 second' as d) d`;
  await sql`
    insert into carillon.parcels (id, ready_at, offer_at, shard, queue, occurrences, schedule_ids)
    select n, d, d, n % 16, 'fast', array[d], array[n] from generate_series(1, ${parcels}::int) n,
      lateral (select '2026-02-20T00:00:00Z'::timestamptz + (n % 80000) * interval '1 second' as d) d`;
  await sql`
    insert into carillon.schedules (id, key, shard, queue, target_kind, created_at, created_by, updated_at, updated_by)
    select n, 'key:' || n, n % 16, 'fast', 'queue', '2026-01-01', 'a', '2026-01-01', 'a' from generate_series(1, ${schedules}::int) n`;
  await sql`
    insert into carillon.schedule_versions (schedule_id, version, change, changed_at, changed_by, spec_version, held, first_at, every_ms, body, target)
    select n, 1, 'created', '2026-01-01', 'a', 1, false, '2026-01-01', 60000, '{}', '{}' from generate_series(1, ${schedules}::int) n`;
  await sql`
    insert into carillon.pulses_passed (from_at, to_at, noted_at, shard, target_id, count, reason)
    select d, d, d, n % 16, 1, 1, 'failed' from generate_series(1, ${lostSeconds}::int) n,
      lateral (select carillon.clock() - n * interval '1 minute' as d) d`;
  for (const table of ["minute_lateness", "minute_pulse_lateness"])
    await sql`
      insert into carillon.${sql(table)}
      select carillon.clock() - n * interval '1 minute', b, 1 from generate_series(1, ${lateMinutes}::int) n, generate_series(1, 10) b`;
  await sql`set session_replication_role = 'origin'`;
  // Autovacuum is off in the tests' server, so this does its work.
  await sql`vacuum (analyze)`;
  await sql.end();
}

test("the tick's query for work reads indexes, whether none of the work is due or all of it", async () => {
  const look = async () => {
    await pendingBeforeFiring(sql);
    const after = await pendingAfterFiring(sql, tickDefaults);
    return { parcels: isDue(after, "parcels"), ended: isDue(after, "ended") };
  };
  const late = await touched(sql, async () =>
    expect(await look()).toMatchObject({ parcels: true, ended: false }),
  );
  await sql`update carillon.parcels set offer_at = offer_at + interval '1 year'`;
  await sql`vacuum (analyze) carillon.parcels`;
  const early = await touched(sql, async () => expect(await look()).toMatchObject({ parcels: false }));
  await sql`update carillon.parcels set offer_at = offer_at - interval '1 year'`;
  await sql`vacuum (analyze) carillon.parcels`;
  for (const { scanned, index } of [late, early]) {
    expect(Object.entries(scanned).filter(([, read]) => read > 100)).toEqual([]);
    expect(Object.entries(index).filter(([, read]) => read > 100)).toEqual([]);
  }
});

test("the alarms' figures count open parcels up to a limit, and read no job and no schedule", async () => {
  const { scanned, index } = await touched(sql, async () => {
    const standing = await readStanding(sql);
    expect(standing.parcels).toEqual({ count: 100_000, more: true });
    await oldestTransactionMs(sql);
  });
  expect(scanned["parcels"]).toBeLessThanOrEqual(2 * lookedAtMax);
  expect(Object.keys(scanned).filter((table) => /^(jobs|attempts|schedules|plan)/.test(table))).toEqual([]);
  expect(Object.values(index).filter((read) => read > 20_000)).toEqual([]);
});

test("the drop of days searches the parcels once, and then reads only the parcel that keeps a day", async () => {
  const drop = () => dropDays({ sql, log }, { retentionDays: 3, archived: true }, bounds);
  const first = await touched(sql, drop);
  // One of two days has waiting jobs, and the other has no parcel.
  expect(first.scanned["parcels"]).toBeGreaterThanOrEqual(parcels);
  await sql`drop table carillon.jobs_20260221`;
  const again = await touched(sql, drop);
  expect(again.scanned["parcels"]).toBeUndefined();
  expect(again.index["parcels_pkey"]).toBe(1);
  const lag = await touched(sql, async () => expect(await archiveLagMs(sql, 3)).toBe(0));
  expect(lag.scanned["parcels"]).toBeUndefined();
});

test("the roll-up drops old minutes and lost pulses by their time, and reads none that it keeps", async () => {
  const [lostKept, lateKept] = [30 * 24 * 60, 2 * 24 * 60];
  const { scanned, index } = await touched(sql, () => rollUp({ sql, log, ...bounds }));
  const [kept] = await sql<{ lost: number; late: number }[]>`
    select (select count(*)::int from carillon.pulses_passed) as lost,
      (select count(distinct minute)::int from carillon.minute_lateness) as late`;
  expect(kept).toEqual({ lost: lostKept - 1, late: lateKept - 1 });
  for (const table of ["pulses_passed", "minute_lateness", "minute_pulse_lateness"])
    expect(scanned[table], table).toBeUndefined();
  expect(index["pulses_passed_noted"]).toBeLessThanOrEqual(lostSeconds - lostKept + 10);
  expect(index["minute_lateness_pkey"]).toBeLessThanOrEqual(10 * (lateMinutes - lateKept + 10));
});

test("the reclaim of cadences probes an index for each and reads no version, with thousands of versions or none", async () => {
  await sql`insert into carillon.cadences (expression, timezone) select n::text, 'UTC' from generate_series(1, 300) n`;
  await sql`set session_replication_role = 'replica'`;
  await sql`update carillon.schedule_versions set first_at = null, every_ms = null, cadence_id = 1 + schedule_id % 3`;
  await sql`set session_replication_role = 'origin'`;
  await sql`vacuum (analyze) carillon.schedule_versions`;
  const { scanned, index } = await touched(sql, async () =>
    expect(await sql`select looked, gone from carillon.reclaim_cadences(1000)`).toEqual([
      { looked: 300, gone: 297 },
    ]),
  );
  expect(scanned["schedule_versions"]).toBeUndefined();
  expect(index["schedule_versions_cadence"]).toBeLessThan(100);
});

test("the purge reads thirty thousand schedules at a time, by their ids, and each once a round", async () => {
  await sql`update carillon.shards set watermark_at = carillon.clock()`;
  const { scanned, index } = await touched(sql, () =>
    purge(
      { sql, log: recordedLog() },
      { retentionDays: 3, auditRetentionDays: 365 },
      { timeIsUp: () => false, note: (error) => Promise.reject(error) },
    ),
  );
  // Lost pulses are found by the time at which they were recorded, not by reading the whole of
  // another index.
  expect(index["pulses_passed_noted"]).toBeGreaterThan(0);
  expect(index["pulses_passed_shard"]).toBeUndefined();
  expect(await sql`select place::int from carillon.purges`).toEqual([{ place: 30_000 }]);
  expect(scanned["schedules"]).toBeUndefined();
  expect(scanned["schedule_versions"]).toBeUndefined();
  // Each schedule is looked up up to four times: to count it, to read it, and again if it has a
  // limit of fires, or if only its cadence tells its end.
  expect(index["schedules_pkey"]).toBeLessThanOrEqual(4 * 30_000 + 100);
  expect(index["schedule_versions_pkey"]).toBeLessThanOrEqual(2 * 30_000 + 100);
});
