import { expect, test } from "vitest";
import type { Sql } from "../../lib/db/connect.ts";
import { readPrefixStats } from "../../lib/stats/prefix-stats.ts";
import { readSeries, type SeriesSearch } from "../../lib/stats/series.ts";
import { describePlans } from "../support/describe-plans.ts";
import { at, hour } from "../support/instants.ts";
import { touched } from "../support/touched.ts";

const schedules = 60_000;
const jobs = 300_000;
const large =
  /^(jobs|attempts|plan)_\d+$|^(schedules|schedule_versions|passed_over|minute_lateness|dead_jobs)$/;

describePlans("with 60,000 schedules and 300,000 jobs", fill, (filled) => {
  /** No large table is scanned, and the sum of the index entries that are read is bounded. */
  async function expectBounded(read: () => Promise<unknown>, entriesMax: number): Promise<void> {
    const { scanned, index } = await touched(filled.sql, read);
    expect(Object.entries(scanned).filter(([table, rows]) => large.test(table) && rows > 500)).toEqual([]);
    const wide = Object.entries(index).filter(([name]) => !name.startsWith("shards"));
    expect(wide.filter(([, entries]) => entries > entriesMax)).toEqual([]);
  }

  const most = { listed: 20_000, unlisted: 5_000 };
  const series = (owners: SeriesSearch["owners"], more: Partial<SeriesSearch> = {}) =>
    readSeries(filled.sql, {
      owners,
      step: "1m",
      limit: 1_440,
      from: at(-4 * hour),
      to: at(0),
      most,
      ...more,
    });

  test("The series of all jobs reads the minutes that it shows", async () => {
    await expectBounded(() => series({}, { from: at(-hour) }), 2_500);
  });

  test("The series of a few schedules looks up their own occurrences alone", async () => {
    await expectBounded(() => series({ prefix: "few:" }), 2_000);
    await expectBounded(() => series({ key: "few:7" }), 500);
    await expectBounded(() => series({ key: "few:7" }, { from: new Date(0) }), 1_000);
  });

  test("The series of thousands of schedules walks through a bounded number of jobs", async () => {
    await expectBounded(() => series({ prefix: "team:" }), 2.2 * most.listed);
  });

  test("The series of a prefix with more schedules, or of a tag, looks up those of a bounded number of jobs", async () => {
    for (const owners of [{ prefix: "big:" }, { tag: "t" }, { target: "queue" }])
      await expectBounded(() => series(owners), 3.2 * most.unlisted);
  });

  test("The statistics of a prefix read a bounded number of rows", async () => {
    await expectBounded(() => readPrefixStats(filled.sql, "few:"), 12_000);
  });
});

/**
 * Jobs of the last five hours, 60,000 an hour, of ten schedules of `few:`, 5,000 of `team:` and the
 * others of `big:`, and ranges that were passed over.
 */
async function fill(sql: Sql): Promise<void> {
  const start = at(0);
  await sql`
    insert into carillon.schedules (id, shard, queue, key, tags, target_kind, created_at, created_by, updated_at, updated_by)
    select n, n % 16, 'fast', case when n <= 10 then 'few:' when n <= 5010 then 'team:' else 'big:' end || n, '{t}', 'queue',
      ${start}, 't', ${start}, 't' from generate_series(1, ${schedules}) n`;
  await sql`
    insert into carillon.schedule_versions (schedule_id, version, change, changed_at, changed_by, spec_version, held, first_at, every_ms, body, target, payload)
    select n, 1, 'created', ${start}::timestamptz - interval '1 day', 't', 1, false,
      ${start}::timestamptz - interval '5 hours' + n * interval '60 ms', 3600000, '{"when": "every 1h"}', '{"queue": "demo"}', to_jsonb(n)
    from generate_series(1, ${schedules}) n`;
  await sql`select carillon.attach_days('2026-02-27', '2026-03-02')`;
  await sql`
    insert into carillon.jobs (occurrence, schedule_id, due_at, version, state, attempt, started_at, finished_at)
    select o, n, o, 1, 'succeeded', 1, o + interval '50 ms', o + interval '80 ms'
    from generate_series(1, ${schedules}) n, generate_series(0, ${jobs / schedules - 1}) h,
      lateral (select ${start}::timestamptz - interval '5 hours' + n * interval '60 ms' + h * interval '1 hour' as o) l`;
  await sql`
    insert into carillon.passed_over (schedule_id, from_at, to_at, count, reason, noted_at)
    select n, ${start}::timestamptz - interval '1 day', ${start}::timestamptz - n * interval '200 ms', 2, 'missed', ${start}
    from generate_series(1, ${schedules}) n`;
  await sql`
    insert into carillon.dead_jobs (occurrence, schedule_id, kind, n, died_at)
    select o, n, 'cadence', 0, o from generate_series(1, 30000) n,
      lateral (select ${start}::timestamptz - interval '5 hours' + n * interval '60 ms' as o) l`;
  await sql`
    insert into carillon.minutes (minute, fired, succeeded)
    select ${start}::timestamptz - n * interval '1 minute', 1000, 1000 from generate_series(0, 2880) n`;
  await sql`
    insert into carillon.minute_lateness (minute, bucket, jobs)
    select ${start}::timestamptz - n * interval '1 minute', b, 10 from generate_series(0, 2880) n, generate_series(30, 60) b`;
}
