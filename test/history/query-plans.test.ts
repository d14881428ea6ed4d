import { expect, test } from "vitest";
import type { Sql } from "../../lib/db/connect.ts";
import { patchSchedule } from "../../lib/edit/schedule-edits.ts";
import { pauseSchedule, resumeSchedule } from "../../lib/edit/schedule-holds.ts";
import { explain } from "../../lib/explain/explain.ts";
import { countJobs } from "../../lib/history/jobs/count-jobs.ts";
import { nextOccurrences } from "../../lib/history/next-occurrences.ts";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import { searchKey } from "../../lib/history/search-histories.ts";
import { listSchedules } from "../../lib/history/search-schedules.ts";
import { jobsToCome, lookForUnmade } from "../../lib/history/unmade-jobs.ts";
import { versionsOf } from "../../lib/history/versions.ts";
import { jobId } from "../../lib/job/job-id.ts";
import { readJob } from "../../lib/job/read-job.ts";
import { type ClaimedParcel, claimParcel } from "../../lib/parcel/claim.ts";
import { claimTogether } from "../../lib/parcel/claim-together.ts";
import { settleParcel } from "../../lib/parcel/settle.ts";
import { settleTogether } from "../../lib/parcel/settle-together.ts";
import { sweep } from "../../lib/parcel/sweep.ts";
import { schedulesWithEndedHolds } from "../../lib/schedule/holds.ts";
import { fireShardBatch } from "../../lib/tick/fire/shard-batch.ts";
import { describePlans } from "../support/describe-plans.ts";
import { at, minute, second } from "../support/instants.ts";
import { type Touched, touched } from "../support/touched.ts";

const schedules = 100_000;
const large =
  /^(jobs|plan|attempts)_\d+$|^(schedules|schedule_versions|parcels|holds|plan_far|audit|passed_over)$/;

describePlans("with 100,000 schedules and jobs over several days", fill, (filled) => {
  /**
   * No large table is scanned, no index is read from end to end, and only the days concerned are
   * read.
   */
  function expectProbesOnly({ scanned, index }: Touched, entriesMax: number): void {
    expect(Object.entries(scanned).filter(([table, read]) => large.test(table) && read > 500)).toEqual([]);
    expect(
      Object.entries(index).filter(([name, read]) => read > (name.startsWith("shards") ? 1_000 : entriesMax)),
    ).toEqual([]);
  }

  /**
   * The days of a table that were read; the planner itself sometimes reads the ends of an index.
   */
  const daysOf = ({ index }: Touched, table: string) =>
    Object.entries(index)
      .filter(([name, read]) => name.startsWith(`${table}_2`) && read > 4)
      .map(([name]) => name.slice(table.length + 1, table.length + 9));

  const readyParcel = async () => {
    const [parcel] = await filled.sql<{ id: string; schedule: string }[]>`
      select id, schedule_ids[1] as schedule from carillon.parcels
      where ready_at <= carillon.clock() and lease_until is null and cardinality(occurrences) > 100 limit 1`;
    if (parcel === undefined) throw new Error("No parcel is ready.");
    return parcel;
  };

  async function claimed(id: string): Promise<ClaimedParcel> {
    const claim = await claimParcel(filled.sql, id, minute);
    if (claim.outcome !== "claimed") throw new Error(`The parcel is ${claim.outcome}.`);
    return claim;
  }

  test("A batch of the tick reads its own plan rows and looks up their schedules", async () => {
    const of = await touched(filled.sql, async () => {
      const batch = await fireShardBatch(filled.sql, 0, 5_000, filled.world.queue.timing);
      expect(batch.jobs).toBe(1_000);
    });
    expectProbesOnly(of, 4_000);
    expect(daysOf(of, "plan")).toEqual(["20260302"]);
  });

  test("Several parcels are claimed together, and settled together, by lookups in the day of their jobs alone", async () => {
    await fireShardBatch(filled.sql, 1, 5_000, filled.world.queue.timing);
    await filled.world.clock.setNow(at(minute));
    const ready = await filled.sql<{ id: string }[]>`
      select id from carillon.parcels where shard = 1 and ready_at <= carillon.clock() and lease_until is null and cardinality(occurrences) > 100 limit 4`;
    const ids = ready.map(({ id }) => id);
    let parcels: ClaimedParcel[] = [];
    const claiming = await touched(filled.sql, async () => {
      parcels = [...(await claimTogether(filled.sql, ids, minute)).values()];
    });
    expect(parcels.map(({ jobs }) => jobs.length)).toEqual([250, 250, 250, 250]);
    expectProbesOnly(claiming, 4_000);
    expect(daysOf(claiming, "jobs")).toEqual(["20260302"]);

    const settle = settleTogether({
      sql: filled.sql,
      queue: filled.world.queue,
      log: filled.world.log,
      notify: [],
    });
    const settling = await touched(filled.sql, async () => {
      expect(await Promise.all(parcels.map((parcel) => settle(parcel)))).toEqual([true, true, true, true]);
    });
    expectProbesOnly(settling, 4_000);
    expect(daysOf(settling, "jobs")).toEqual(["20260302"]);
  });

  test("A claim and both ways to settle look up the jobs of their day by key", async () => {
    await filled.world.clock.setNow(at(minute));
    const { id } = await readyParcel();
    let parcel: ClaimedParcel | undefined;
    const claiming = await touched(filled.sql, async () => {
      parcel = await claimed(id);
    });
    const own = parcel;
    if (own === undefined) throw new Error("Nothing was claimed.");
    expect(own.jobs).toHaveLength(250);
    expectProbesOnly(claiming, 1_000);
    expect(daysOf(claiming, "jobs")).toEqual(["20260302"]);

    const settling = await touched(filled.sql, () =>
      settleParcel(
        filled.sql,
        own,
        own.jobs.map(() => ({ kind: "succeeded" })),
      ),
    );
    expectProbesOnly(settling, 1_000);
    expect(daysOf(settling, "jobs")).toEqual(["20260302"]);

    const other = await claimed((await readyParcel()).id);
    const outcomes = other.jobs.map((_, index) =>
      index % 2 === 0
        ? ({ kind: "succeeded" } as const)
        : ({ kind: "retry", afterMs: 1_000, error: "no" } as const),
    );
    const settlingEach = await touched(filled.sql, () => settleParcel(filled.sql, other, outcomes));
    expectProbesOnly(settlingEach, 1_000);
    expect(daysOf(settlingEach, "jobs")).toEqual(["20260302"]);
  });

  test("A claim that meets jobs under a hold, and the resume that releases them, use lookups too", async () => {
    const { id, schedule } = await readyParcel();
    const edits = { sql: filled.sql, queue: filled.world.queue };
    const params = { key: `k${schedule}`, caller: { name: "ann" } };
    const pausing = await touched(filled.sql, () => pauseSchedule(edits, params));
    expectProbesOnly(pausing, 200);
    const claiming = await touched(filled.sql, () => claimParcel(filled.sql, id, minute));
    expectProbesOnly(claiming, 2_000);
    const resuming = await touched(filled.sql, () => resumeSchedule(edits, params));
    expectProbesOnly(resuming, 200);
    expect((await filled.sql`select from carillon.parcels where held_schedule is not null`).length).toBe(0);
  });

  test("A sweep reads the parcels whose message is due to be sent again, not those whose message is on its way", async () => {
    const of = await touched(filled.sql, () => sweep(filled.sql, filled.world.log));
    expectProbesOnly(of, 1_000);
    expectProbesOnly(
      await touched(filled.sql, async () => schedulesWithEndedHolds(filled.sql, { limit: 500 })),
      100,
    );
  });

  test("An edit and the reads of the API use lookups", async () => {
    const edits = { sql: filled.sql, queue: filled.world.queue };
    expectProbesOnly(
      await touched(filled.sql, () =>
        patchSchedule(edits, { key: "k5000", patch: { payload: 2 }, caller: { name: "ann" } }),
      ),
      300,
    );
    expectProbesOnly(await touched(filled.sql, () => readSchedule(filled.sql, "k5000")), 1_000);
    expectProbesOnly(
      await touched(filled.sql, () => listSchedules(filled.sql, { prefix: "k50", limit: 100 })),
      2_000,
    );
    expectProbesOnly(
      await touched(filled.sql, () => listSchedules(filled.sql, { group: "g7", limit: 100 })),
      2_000,
    );
    const some = Array.from({ length: 100 }, (_, n) => String(5_000 + n));
    expectProbesOnly(await touched(filled.sql, () => jobsToCome(filled.sql, some)), 300);
    const looked = 5_000;
    expectProbesOnly(
      await touched(filled.sql, () => lookForUnmade(filled.sql, { prefix: "k50" }, { looked })),
      2_000,
    );
    expectProbesOnly(
      await touched(filled.sql, () => lookForUnmade(filled.sql, { key: "k5000" }, { looked })),
      100,
    );
    expectProbesOnly(
      await touched(filled.sql, () => searchKey(filled.sql, { filter: { key: "k5000" }, limit: 20 })),
      1_000,
    );
    // A count stops after the newest 50,000 of these 100,000 jobs.
    let counts: unknown[] = [];
    const counting = await touched(filled.sql, async () => {
      counts = [
        await countJobs(filled.sql, {}),
        await countJobs(filled.sql, { state: "cancelled" }),
        await countJobs(filled.sql, { prefix: "k500" }),
      ];
    });
    expect(counts).toEqual([
      { count: 10_000, more: true },
      { count: 0, more: true },
      { count: expect.any(Number), more: true },
    ]);
    expectProbesOnly(counting, 120_000);
    expect(counting.index["schedules_pkey"] ?? 0).toBeLessThan(15_000);
    const explaining = await touched(filled.sql, () =>
      explain(filled.sql, { key: "k5000", at: at(5 * second) }),
    );
    expectProbesOnly(explaining, 1_000);
    expectProbesOnly(
      await touched(filled.sql, () => versionsOf(filled.sql, { key: "k5000", limit: 100 })),
      300,
    );
    expectProbesOnly(
      await touched(filled.sql, () => nextOccurrences(filled.sql, { key: "k5000", n: 100 })),
      300,
    );
    const id = jobId({ scheduleId: "5000", occurrence: at(0), kind: "cadence", n: 0 });
    const reading = await touched(filled.sql, () => readJob(filled.sql, id));
    expectProbesOnly(reading, 100);
    expect(daysOf(reading, "jobs").length).toBeLessThanOrEqual(1);
  });
});

/** Daily schedules, their jobs of four days, and the parcels now on their way. */
async function fill(sql: Sql): Promise<void> {
  const start = at(0);
  await sql`
    insert into carillon.schedules (id, shard, queue, key, group_key, target_kind, created_at, created_by, updated_at, updated_by)
    select n, n % 16, 'fast', 'k' || n, 'g' || n % 1000, 'queue', ${start}, 't', ${start}, 't' from generate_series(1, ${schedules}) n`;
  await sql`
    insert into carillon.schedule_versions (schedule_id, version, change, changed_at, changed_by, spec_version, held, first_at, every_ms, body, target, payload)
    select n, 1, 'created', ${start}::timestamptz - interval '4 days', 't', 1, false, ${start}::timestamptz - interval '3 days' + n * interval '1 ms', 86400000,
      '{"when": "every 1d"}', '{"queue": "demo"}', to_jsonb(n) from generate_series(1, ${schedules}) n`;
  await sql`
    insert into carillon.audit (at, actor, action, subject, schedule_id, version)
    select ${start}, 't', 'schedule.created', 'k' || n, n, 1 from generate_series(1, ${schedules}) n`;
  await sql`
    insert into carillon.passed_over (schedule_id, from_at, to_at, count, reason, noted_at)
    select n, ${start}::timestamptz - interval '2 days', ${start}::timestamptz - interval '1 day', 2, 'missed', ${start} from generate_series(1, ${schedules}) n`;
  await sql`
    insert into carillon.plan (due_at, occurrence, schedule_id, every_ms, version, shard)
    select d, d, n, 86400000, 1, n % 16
    from generate_series(1, ${schedules}) n,
      lateral (select ${start}::timestamptz + case when n % 16 <= 1 and n <= 16000 then interval '1 minute' else interval '10 minutes' + n * interval '2 s' end as d) l`;
  await sql`select carillon.attach_days('2026-02-27', '2026-02-28')`;
  await sql`
    insert into carillon.jobs (occurrence, schedule_id, due_at, version, state, attempt, started_at, finished_at)
    select d, n, d, 1, 'succeeded', 1, d, d from generate_series(1, ${schedules}) n,
      lateral (select ${start}::timestamptz - (n % 4) * interval '1 day' as d) l`;
  await sql`
    insert into carillon.parcels (shard, queue, ready_at, offer_at, occurrences, schedule_ids)
    select n % 16, 'fast', ${start}::timestamptz + interval '1 hour', ${start}::timestamptz + interval '1 hour', array[${start}::timestamptz], array[n]
    from generate_series(1, 20000) n`;
  await sql`
    insert into carillon.holds (schedule_id, owner, since, until)
    select n, 't', ${start}, ${start}::timestamptz + interval '1 day' from generate_series(60001, 80000) n`;
  // A table that grows in use is analyzed by autovacuum; here twenty thousand holds appear at once.
  await sql`analyze carillon.holds`;
}
