import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { cancelJob } from "../../lib/edit/cancel-jobs.ts";
import { explain } from "../../lib/explain/explain.ts";
import { listDead } from "../../lib/history/dead-jobs.ts";
import { groupJobs } from "../../lib/history/error-groups.ts";
import { countEntries, jobsOfEntries } from "../../lib/history/jobs-of-entries.ts";
import { jobId } from "../../lib/job/job-id.ts";
import { cancelMany } from "../../lib/job-control/cancel-many.ts";
import { retryDryRun } from "../../lib/job-control/dry-run.ts";
import { retryJob } from "../../lib/job-control/retry-jobs.ts";
import { retryMany } from "../../lib/job-control/retry-many.ts";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { settleParcel } from "../../lib/parcel/settle.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at } from "../support/instants.ts";
import { statistics, tell } from "../support/statistics.ts";
import { type Touched, touched } from "../support/touched.ts";

const schedules = 40_000;
const large =
  /^(jobs|attempts|dead_jobs|error_groups|job_requests)_\d+$|^(schedules|schedule_versions|parcels|audit|targets)$/;
const caller = { name: "ann" };
/** One of a thousand dead jobs is in it. */
const rareGroup = "aaaaaaaaaaaa";

describe.each(statistics)(
  "with 40,000 schedules, as many dead jobs over four days and as many that wait, %s",
  (_, told) => {
    let world: Carillon;
    let sql: Sql;

    beforeAll(async () => {
      world = await carillon();
      sql = connect({ DATABASE_URL: world.databaseUrl }, { max: 1 });
      await fill(sql);
      await tell(sql, told);
      // Set as it is for the role of the API, because the planner has no statistics of tables that
      // serve as queues.
      await sql`set enable_seqscan = off`;
      await sql`set jit = off`;
    }, 120_000);

    afterAll(async () => {
      await sql.end();
      await world.stop();
    });

    const deps = () => ({ sql, queue: world.queue, log: world.log });
    const deadId = (n: number) =>
      jobId({
        scheduleId: String(n),
        occurrence: new Date(at(0).getTime() - (n % 4) * 86_400_000),
        kind: "cadence",
        n: 0,
      });
    const waitingId = (n: number) =>
      jobId({ scheduleId: String(n), occurrence: at(1_000), kind: "cadence", n: 0 });

    /** Expects that no large table is scanned and no index is read from end to end. */
    async function expectProbes(act: () => Promise<unknown>, entriesMax: number): Promise<void> {
      const { scanned, index }: Touched = await touched(sql, act);
      expect(Object.entries(scanned).filter(([table, read]) => large.test(table) && read > 500)).toEqual([]);
      expect(Object.entries(index).filter(([, read]) => read > entriesMax)).toEqual([]);
    }

    test("one job is cancelled, retried and explained by index lookups", async () => {
      await expectProbes(() => cancelJob(deps(), { id: waitingId(7), caller }), 20);
      await expectProbes(() => retryJob(deps(), { id: waitingId(7), caller }), 20);
      await expectProbes(() => retryJob(deps(), { id: deadId(9), caller }), 20);
      await expectProbes(() => explain(sql, { key: "k7", at: at(1_000) }), 100);
    });

    test("a page of dead jobs is read from the end of the index, and one of a key, group or prefix from its own index", async () => {
      const page = (filter: object) => () => listDead(sql, { filter, order: "newest", limit: 50 });
      await expectProbes(page({}), 4_100);
      await expectProbes(page({ key: "k9" }), 20);
      await expectProbes(page({ group: "g17" }), 300);
      await expectProbes(page({ prefix: "k1234" }), 200);
      const { next } = await listDead(sql, { filter: {}, order: "newest", limit: 50 });
      await expectProbes(() => listDead(sql, { filter: {}, order: "newest", after: next, limit: 50 }), 4_100);
      await expectProbes(page({ tag: "none", from: at(-60_000) }), 25_000);
    });

    test("a page of an error group, and of one within a prefix, is read from its own index", async () => {
      const page = (filter: object) => () =>
        listDead(sql, { filter: { errorGroup: [rareGroup], ...filter }, order: "newest", limit: 50 });
      await expectProbes(page({}), 300);
      await expectProbes(page({ prefix: "k1001" }), 200);
      await expectProbes(() => retryDryRun(sql, { state: "dead", errorGroup: [rareGroup] }), 300);
    });

    test("dead jobs are grouped by one pass over the newest 20,000", async () => {
      const group = (filter: object) => () =>
        groupJobs(sql, { state: "dead", by: "target,error", filter, limit: 50 });
      await expectProbes(group({}), 20_200);
      await expectProbes(group({ tag: "none" }), 20_200);
      await expectProbes(group({ group: "g17" }), 300);
      await expectProbes(group({ errorGroup: [rareGroup] }), 300);
      await expectProbes(() => retryDryRun(sql, { state: "dead" }), 21_200);
      await expectProbes(() => retryDryRun(sql, { state: "dead", lateBy: "1h" }), 42_000);
    });

    test("retrying jobs are grouped by one pass over the parcels", async () => {
      const search = { state: "retrying", by: "target,error", filter: {}, limit: 50 } as const;
      await expectProbes(() => groupJobs(sql, search), 1_100);
    });

    test("a settle looks up the error groups of its failed jobs by index", async () => {
      const [row] = await sql<{ id: string }[]>`select id from carillon.parcels order by id limit 1`;
      await world.clock.setNow(at(1_000));
      const parcel = await claimParcel(sql, row?.id ?? "0", 30_000);
      if (parcel.outcome !== "claimed") throw new Error(`The parcel is ${parcel.outcome}.`);
      const failed = parcel.jobs.map(
        () =>
          ({
            kind: "retry",
            afterMs: 1_000,
            error: "Order 17 not found",
            errorClass: "Error",
            stack: undefined,
          }) as const,
      );
      await expectProbes(() => settleParcel(sql, parcel, failed), 200);
    });

    test("hundreds of jobs are retried by index lookups, a batch at a time", async () => {
      await expectProbes(
        () => retryMany(deps(), { filter: { state: "dead" }, limit: 1_000, caller }),
        15_000,
      );
    });

    test("the jobs of one retry are counted and listed by index lookups", async () => {
      const { entry } = await retryMany(deps(), { filter: { state: "dead" }, limit: 1_000, caller });
      const filter = { entry: [entry ?? ""] };
      await expectProbes(() => countEntries(sql, filter), 2_100);
      await expectProbes(() => jobsOfEntries(sql, { filter, limit: 50 }), 2_100);
    });

    test("the open jobs of a group are found by one pass over the parcels", async () => {
      await expectProbes(() => cancelMany(deps(), { filter: { group: "g21" }, limit: 1_000, caller }), 3_500);
      const [left] = await sql`
      select count(*)::int as jobs from carillon.jobs j join carillon.schedules s on s.id = j.schedule_id
      where s.group_key = 'g21' and j.state = 'waiting' and j.occurrence = ${at(1_000)}`;
      expect(left).toEqual({ jobs: 0 });
    });
  },
);

async function fill(sql: Sql): Promise<void> {
  const start = at(0);
  await sql`insert into carillon.targets (name) values ('queue/demo')`;
  await sql`
    insert into carillon.schedules (id, shard, queue, key, group_key, target_kind, created_at, created_by, updated_at, updated_by)
    select n, n % 16, 'fast', 'k' || n, 'g' || n % 1000, 'queue', ${start}::timestamptz - interval '9 days', 't', ${start}, 't' from generate_series(1, ${schedules}) n`;
  await sql`
    insert into carillon.schedule_versions (schedule_id, version, change, changed_at, changed_by, spec_version, held, first_at, every_ms, body, target, payload)
    select n, 1, 'created', ${start}::timestamptz - interval '9 days', 't', 1, false, ${start}::timestamptz - interval '8 days', 86400000,
      '{"when": "every 1d"}', '{"queue": "demo"}', to_jsonb(n) from generate_series(1, ${schedules}) n`;
  await sql`select carillon.attach_days('2026-02-26', '2026-03-03')`;
  await sql`
    insert into carillon.jobs (occurrence, schedule_id, due_at, version, state, attempt, started_at, finished_at, reason)
    select d, n, d, 1, 'dead', 1, d, d, 'attempts' from generate_series(1, ${schedules}) n,
      lateral (select ${start}::timestamptz - (n % 4) * interval '1 day' as d) l`;
  await sql`
    insert into carillon.dead_jobs (occurrence, schedule_id, kind, n, died_at, reason, error_group)
    select occurrence, schedule_id, kind, n, finished_at + schedule_id * interval '1 ms', 'attempts',
      case when schedule_id % 1000 = 1 then ${rareGroup} else lpad((schedule_id % 5)::text, 12, '0') end from carillon.jobs`;
  await sql`
    insert into carillon.attempts (occurrence, schedule_id, kind, n, attempt, started_at, finished_at, outcome, error, error_group)
    select d.occurrence, d.schedule_id, d.kind, d.n, 1, d.died_at, d.died_at, 'failed', 'no', d.error_group from carillon.dead_jobs d`;
  await sql`
    insert into carillon.error_groups (occurrence, id, target, error)
    select occurrence, error_group, 'queue/demo', error_group from carillon.dead_jobs group by 1, 2
    union all select ${start}::timestamptz - (n % 4) * interval '1 day', lpad(n::text, 12, 'f'), 'queue/demo', n::text from generate_series(1, ${schedules}) n`;
  await sql`
    with made as (
      insert into carillon.parcels (shard, queue, ready_at, offer_at, occurrences, schedule_ids)
      select p % 16, 'fast', ${at(1_000)}, ${at(1_000)}, array_agg(${at(1_000)}::timestamptz order by n), array_agg(n::bigint order by n)
      from (select n, (n - 1) / 40 as p from generate_series(1, ${schedules}) n) n group by p
      returning id, occurrences, schedule_ids
    )
    insert into carillon.jobs (occurrence, schedule_id, due_at, version, parcel_id)
    select k.occurrence, k.schedule_id, k.occurrence, 1, made.id from made cross join lateral unnest(occurrences, schedule_ids) k (occurrence, schedule_id)`;
  await sql`
    with entries as (
      insert into carillon.audit (at, actor, action, subject, schedule_id, version)
      select ${start}, 't', 'jobs.cancelled', 'k' || n, n, 1 from generate_series(1, ${schedules}) n returning at, id, schedule_id)
    insert into carillon.job_requests (occurrence, schedule_id, kind, n, at, audit_id)
    select ${at(1_000)}, schedule_id, 'cadence', 0, at, id from entries`;
  await sql`select setval('carillon.schedules_id_seq', ${schedules})`;
}
