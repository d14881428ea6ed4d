import type postgres from "postgres";
import type { Tx } from "../db/connect.ts";
import { keptPlan } from "../db/statement.ts";
import { type MadeParcel, targetLimits } from "../limit/target-limits.ts";
import { laneEntries } from "../parcel/lanes.ts";
import { passedSinglyMax } from "./instants.ts";
import { packedJobs } from "./packed-jobs.ts";
import { passedEvents } from "./passed-events.ts";
import { missedAfterMs } from "./shard.ts";
import { type UnfoldedRow, unfoldedRows } from "./unfolded-rows.ts";

export interface Fired {
  jobs: number;
  /** Parcels to send, without those that first wait at their target. */
  parcels: MadeParcel[];
}

export interface FireParams {
  /**
   * Plan rows: due_at, occurrence, schedule_id, every_ms, version, cadence_id, governed, whether
   * the row is unfolded on its own (own), and the due time up to which it is unfolded (bound).
   */
  source: postgres.PendingQuery<postgres.Row[]>;
  shard: number;
  now: Date;
  nearUntil: Date;
  unfolded: readonly UnfoldedRow[];
  /**
   * Callers that know that no row has passed-over occurrences or existing jobs set these to false,
   * which leaves parts out of the statement.
   */
  somePassed?: boolean;
  someExist?: boolean;
  /**
   * The instant from which `waitMs` of the returned parcels counts. Default: when the statement
   * runs, for callers that send the parcels at once.
   */
  waitsFrom?: Date;
  /**
   * For one or a few rows: planning the statement takes several times as long as running it, so a
   * kept generic plan serves.
   */
  few?: boolean;
}

/**
 * Turns plan rows into jobs, parcels and next plan rows in one statement: the tick for a batch of a
 * shard, an edit for the schedule that it changed. A row counts only if its version is the
 * schedule's current one and the schedule is not held. `offset 0` keeps the planner from turning
 * the lookup by id into a join over all schedules. The plain condition `deleted_at is null` would
 * let the planner read the index of all live keys for each row while its statistics say that the
 * table is empty; hence the coalesce.
 */
export async function fire(tx: Tx, params: FireParams): Promise<Fired> {
  const {
    source,
    shard,
    now,
    nearUntil,
    unfolded,
    somePassed = true,
    someExist = true,
    few = false,
  } = params;
  const waitsFrom =
    params.waitsFrom === undefined ? tx`carillon.clock()` : tx`${params.waitsFrom}::timestamptz`;
  const missedBefore = new Date(now.getTime() - missedAfterMs);
  // The planner estimates enough rows for JIT, and compiling takes longer than running the plan. It
  // also estimates enough for memoize, which would cache schedules that do not recur. Sequential
  // scans are off because the plan is kept: if it was made while there were few schedules, it would
  // scan all of them for each due row once there are many.
  const planning = tx`
    select set_config('jit', 'off', true), set_config('enable_memoize', 'off', true), set_config('enable_seqscan', 'off', true),
      set_config('plan_cache_mode', ${few ? "force_generic_plan" : "auto"}, true)`.execute();
  // The parts for governed rows are in the statement only if there are such rows.
  const own = unfolded.some(({ key }) => "scheduleId" in key);
  const ofOwn: Fragment = (fragment) => (own ? fragment : tx``);
  const firing = keptPlan(tx<FiredRow[]>`
    with batch as (${source}),
    ${targetLimits(tx)},
    live as materialized (
      select b.*, s.queue, s.overlap, s.lane, s.target_id, s.priority, s.team_id
      from batch b cross join lateral (
        select s.queue, s.overlap, s.lane, s.priority, s.team_id,
          case when s.queue = 'slow' or s.target_id in (select id from limits) then s.target_id end as target_id
        from carillon.schedules s
        where s.id = b.schedule_id and s.version = b.version and coalesce(s.deleted_at, 'infinity') = 'infinity'
          and (s.held_since is null or s.held_until <= b.due_at)
        offset 0) s
    ),
    ${unfoldedRows(tx, unfolded)},
    ${steppedIntervals(tx, missedBefore)},
    occurrences as materialized (
      select schedule_id, version, queue, overlap, lane, target_id, priority, team_id, 'cadence'::carillon.job_kind as kind, due_at, occurrence, false as passed, null::text as reason
      from live where every_ms is null and cadence_id is null and not own
      union all
      select schedule_id, version, queue, overlap, lane, target_id, priority, team_id, 'cadence', due_at, occurrence, false, null
      from stepped where last_step = 0 and missed <= 1
      union all
      select s.schedule_id, s.version, s.queue, s.overlap, s.lane, s.target_id, s.priority, s.team_id, 'cadence', s.due_at + k * s.step, s.occurrence + k * s.step, k < s.missed - 1, 'missed'
      from stepped s cross join lateral generate_series(
        case when s.missed - 1 <= ${passedSinglyMax} then 0 else s.missed - 1 end, s.last_step) k
      where s.last_step > 0 or s.missed > 1
      union all
      select l.schedule_id, l.version, l.queue, l.overlap, l.lane, l.target_id, l.priority, l.team_id, 'cadence', i.due_at, i.at, i.role = 'passed', i.reason
      from live l join instants i on i.cadence_id = l.cadence_id and i.planned = l.occurrence and i.planned_due = l.due_at
      where not l.own and i.role in ('run', 'passed')
      ${ofOwn(tx`
        union all
        select l.schedule_id, l.version, l.queue, l.overlap, l.lane, l.target_id, l.priority, l.team_id, 'cadence', i.due_at, i.at, i.role = 'passed', i.reason
        from live l join instants i on i.schedule_id = l.schedule_id and i.planned = l.occurrence and i.planned_due = l.due_at
        where l.own and i.role in ('run', 'passed')`)}
    ),
    ${laneEntries(tx)},
    ${packedJobs(tx, { shard, now, someExist, somePassed })},
    ${plannedNext(tx, shard, nearUntil, ofOwn)}
    ${owedLater(tx, shard, now, unfolded)}
    ${somePassed ? passedNoted(tx, shard, now, ofOwn) : tx``}
    select (select count(*)::int from inserted_jobs) as jobs,
      p.id, p.queue, p.rated, carillon.message_group(p.team_id, p.id) as group, (extract(epoch from p.ready_at - ${waitsFrom}) * 1000)::float8 as "waitMs"
    from (select 1) one left join packed p on not p.waits order by coalesce(p.priority, 0), p.id`);
  const [, rows] = await Promise.all([planning, firing]);
  const [first] = rows;
  return {
    jobs: first?.jobs ?? 0,
    parcels: rows.flatMap((row) => {
      if (row.id === null) return [];
      const { id, queue, waitMs, rated, group } = row;
      return [{ id, queue, waitMs, rated, group }];
    }),
  };
}

type Query = postgres.PendingQuery<postgres.Row[]>;
type Fragment = (fragment: Query) => Query;

type FiredRow = Omit<Fired, "parcels"> & (MadeParcel | { id: null });

/**
 * Exact intervals are arithmetic: how many steps fit up to the bound, and how many of them are
 * missed.
 */
function steppedIntervals(tx: Tx, missedBefore: Date) {
  return tx`
    stepped as materialized (
      select l.schedule_id, l.version, l.queue, l.overlap, l.lane, l.target_id, l.priority, l.team_id, l.due_at, l.occurrence, l.every_ms, l.step, l.last_step,
        least(l.missed, l.last_step + 1) as missed
      from (
        select l.*, l.every_ms * interval '1 millisecond' as step,
          case when l.due_at + l.every_ms * interval '1 millisecond' > l.bound then 0
            else floor(extract(epoch from l.bound - l.due_at) * 1000 / l.every_ms)::bigint end as last_step,
          case when l.due_at >= ${missedBefore} then 0
            else ceil(extract(epoch from ${missedBefore}::timestamptz - l.due_at) * 1000 / l.every_ms)::bigint end as missed
        from live l where l.every_ms is not null and not l.own
      ) l
    )`;
}

/**
 * The part that inserts the first occurrence beyond the bound as the next plan row, near or far.
 */
function plannedNext(tx: Tx, shard: number, nearUntil: Date, ofOwn: Fragment) {
  return tx`
    following as materialized (
      select due_at + (last_step + 1) * step as due_at, occurrence + (last_step + 1) * step as occurrence,
        schedule_id, every_ms, version, null::int as cadence_id, null::boolean as governed
      from stepped
      union all
      select i.due_at, i.at, l.schedule_id, l.every_ms, l.version, l.cadence_id, l.governed
      from live l join instants i on i.cadence_id = l.cadence_id and i.planned = l.occurrence and i.planned_due = l.due_at
      where not l.own and i.role = 'next'
      ${ofOwn(tx`
        union all
        select i.due_at, i.at, l.schedule_id, l.every_ms, l.version, l.cadence_id, l.governed
        from live l join instants i on i.schedule_id = l.schedule_id and i.planned = l.occurrence and i.planned_due = l.due_at
        where l.own and i.role = 'next'`)}
    ),
    near_planned as (
      insert into carillon.plan (due_at, occurrence, schedule_id, every_ms, version, cadence_id, governed, shard)
      select f.*, ${shard}::smallint from following f where f.due_at < ${nearUntil} order by f.due_at
    ),
    far_planned as (
      insert into carillon.plan_far (due_at, occurrence, schedule_id, every_ms, version, cadence_id, governed, shard)
      select f.*, ${shard}::smallint from following f where f.due_at >= ${nearUntil}
    )`;
}

/**
 * The part that puts occurrences into the backlog and counts the jobs of limited schedules. Empty
 * if there is neither.
 */
function owedLater(tx: Tx, shard: number, now: Date, unfolded: readonly UnfoldedRow[]) {
  const own = unfolded.filter(({ key }) => "scheduleId" in key);
  const owing = own.some(({ backlog }) => backlog.length > 0);
  const limited = own.some((row) => row.limited);
  if (!owing && !limited) return tx``;
  return tx`
    , owed as (
      insert into carillon.backlog (schedule_id, shard, kind, version, occurrences, dues, taken, turn_at, noted_at)
      select l.schedule_id, ${shard}::smallint, 'cadence', l.version, array_agg(i.at order by i.at), array_agg(i.due_at order by i.at), 0, ${now}, ${now}
      from live l join instants i on i.schedule_id = l.schedule_id and i.planned = l.occurrence and i.planned_due = l.due_at
      where l.own and i.role = 'owed' group by l.schedule_id, l.version
      returning schedule_id, cardinality(occurrences) as jobs
    ),
    counted as (
      update carillon.schedules s set fires = s.fires + c.jobs
      from (select schedule_id, sum(jobs)::int as jobs from (
        select schedule_id, 1 as jobs from inserted_jobs union all select schedule_id, jobs from owed) made group by 1) c
      where s.id = c.schedule_id and s.max_fires is not null
    )`;
}

/** Notes passed-over occurrences as ranges, and writes their events. */
function passedNoted(tx: Tx, shard: number, now: Date, ofOwn: Fragment) {
  return tx`
    , ranges_noted as (
      insert into carillon.passed_over (schedule_id, from_at, to_at, count, more, reason, noted_at, shard)
      select schedule_id, occurrence, occurrence + (missed - 2) * step, missed - 1, false, 'missed', ${now}, ${shard}::smallint
      from stepped where missed - 1 > ${passedSinglyMax}
      union all
      select l.schedule_id, r.from_at, r.to_at, r.count, r.more, r.reason, ${now}, ${shard}::smallint
      from live l join ranges r on r.cadence_id = l.cadence_id and r.planned = l.occurrence and r.planned_due = l.due_at
      where not l.own
      ${ofOwn(tx`
        union all
        select l.schedule_id, r.from_at, r.to_at, r.count, r.more, r.reason, ${now}, ${shard}::smallint
        from live l join ranges r on r.schedule_id = l.schedule_id and r.planned = l.occurrence and r.planned_due = l.due_at
        where l.own`)}
      returning schedule_id, from_at, to_at, count, more, reason
    ),
    ${passedEvents(
      tx,
      tx`
        select schedule_id, reason, occurrence as from_at, occurrence as to_at, 1 as count, false as more from skipped_jobs
        union all
        select schedule_id, reason, from_at, to_at, count, more from ranges_noted`,
    )}`;
}
