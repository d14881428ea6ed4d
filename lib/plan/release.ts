import { nextRunAfter } from "../cadence/cadence.ts";
import type { Tx } from "../db/connect.ts";
import { laneEntries } from "../parcel/lanes.ts";
import { type OutgoingParcel, parcelMax } from "../parcel/parcel-queue.ts";
import { queueClass } from "../schedule/shape/queue-class.ts";
import type { StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import {
  afterFires,
  dueAt,
  firstDueAfter,
  occurrenceDueBy,
  type Timetable,
  timetableOf,
} from "../schedule/stored/timetable.ts";
import type { Held } from "../schedule/stored/version-rows.ts";
import { attachMissingDays } from "./attach-days.ts";
import { momentOf, type Unfolded, unfold } from "./instants.ts";
import { insertPlanRows, type Planned, planFrom, planFromEach } from "./plan-schedule.ts";
import { missedAfterMs, plannedUpTo, type ShardState } from "./shard.ts";

/**
 * Plans beyond a hold that ends by itself. Such an end is evaluated, not executed: the schedule's
 * row stays held, and each reader compares the end with the clock. Occurrences after the end are
 * planned at once. Those due under the hold are planned as one row of their own, due at the end.
 * The tick applies the catch-up policy to that row, ahead of time as always, and its parcels are
 * ready when the hold ends. Passed-over occurrences are noted after the end, when nothing can
 * change them any more.
 */
export async function planBeyondHold(
  tx: Tx,
  state: ShardState,
  schedule: StoredSchedule,
  planned: Planned,
  held: EndingHeld,
): Promise<OutgoingParcel[]> {
  if (!letsGoAtOnce(state, planned, held)) return planBeyondHolds(tx, [{ state, planned, held }]);
  const underHold = { ...schedule, heldSince: held.since, heldUntil: held.until };
  const released = await fireRelease(tx, state, underHold, planned.version);
  const timetable = afterFires(planned.timetable, released.made);
  const first = firstDueAfter(timetable, held.until.getTime());
  return [...released.parcels, ...(await planFrom(tx, state, { ...planned, timetable }, first))];
}

/** Plans many schedules in a few statements. None of the holds may release jobs at once. */
export async function planBeyondHolds(
  tx: Tx,
  requests: readonly { state: ShardState; planned: Planned; held: EndingHeld }[],
): Promise<OutgoingParcel[]> {
  const rows = requests.flatMap(({ state, planned, held }) => {
    const first = planned.pulse ? null : firstUnderHold(planned.timetable, held);
    if (first === null) return [];
    return [{ state, row: { ...planned, governed: true, occurrence: first, due: held.until.getTime() } }];
  });
  await insertPlanRows(tx, rows);
  return planFromEach(
    tx,
    requests.map(({ state, planned, held }) => ({
      state,
      planned,
      first: firstDueAfter(planned.timetable, held.until.getTime()),
    })),
  );
}

/** A hold that ends by itself; with several holds, the last end. */
export interface EndingHeld extends Held {
  until: Date;
}

export function endsByItself(held: Held | null): held is EndingHeld {
  return held !== null && held.until !== null;
}

/**
 * True if occurrences due under the hold become jobs at once, because the ticks have already passed
 * its end.
 */
export function letsGoAtOnce(
  state: ShardState,
  { id, pulse, timetable }: Planned,
  held: EndingHeld,
): boolean {
  return !pulse && held.until <= plannedUpTo(state, id) && firstUnderHold(timetable, held) !== null;
}

export function firstUnderHold(timetable: Timetable, { since, until }: EndingHeld): number | null {
  const first = firstDueAfter(timetable, since.getTime());
  return first !== null && dueAt(timetable, first) <= until.getTime() ? first : null;
}

/**
 * True for the one plan row of the occurrences due under a hold: no other row of its schedule is
 * due exactly at the hold's end.
 */
export function isRelease(
  timetable: Timetable,
  heldUntil: Date | null,
  row: { occurrence: Date; dueAt: Date },
): boolean {
  if (heldUntil === null || row.dueAt.getTime() !== heldUntil.getTime()) return false;
  return dueAt(timetable, row.occurrence.getTime()) <= heldUntil.getTime();
}

/**
 * Unfolds the occurrences due under a hold that ends by itself. The result is the same at every
 * call.
 */
export function unfoldHeld(timetable: Timetable, heldSince: Date, heldUntil: Date): Unfolded | null {
  const until = heldUntil.getTime();
  const first = firstDueAfter(timetable, heldSince.getTime());
  if (first === null || dueAt(timetable, first) > until) return null;
  const moment = momentOf(timetable, { now: until, bound: until, missedAfterMs });
  return unfold(timetable, first, { ...moment, heldUpTo: moment.missedUpTo });
}

/**
 * The timetable without its limit of fires. Once a hold has ended, only the catch-up policy says
 * which occurrences under it were skipped: the runs that the end released may themselves have used
 * up the limit.
 */
export function withoutLimit(timetable: Timetable): Timetable {
  return { ...timetable, firesLeft: null };
}

/**
 * Whether runs were left when a hold began that has an end. Then one that the end releases has a job, or
 * the first run after the end is recorded: the ticks make both ahead of the end.
 */
export async function hadRunsLeft(
  tx: Tx,
  schedule: StoredSchedule,
  until: Date,
  held: Pick<Unfolded, "runs">,
): Promise<boolean> {
  const timetable = timetableOf(schedule);
  const first = nextRunAfter(timetable.cadence, occurrenceDueBy(timetable, until.getTime()));
  const after = first === null ? [] : [new Date(first)];
  const runs = [...held.runs.map(({ at }) => new Date(at)), ...after];
  const [record] = await tx`
    select from carillon.jobs
    where occurrence = any(${tx.array(runs)}::timestamptz[]) and schedule_id = ${schedule.id} and kind = 'cadence'
    union all
    select from unnest(${tx.array(after)}::timestamptz[]) a (at)
    join lateral (
      select from_at from carillon.passed_over where schedule_id = ${schedule.id} and to_at >= a.at order by to_at limit 1) p on p.from_at <= a.at
    limit 1`;
  return record !== undefined;
}

/**
 * The end of a schedule's hold and the occurrences due under it. `unfolded` is null if there were
 * none.
 */
export interface Release {
  schedule: StoredSchedule;
  version: number;
  until: Date;
  unfolded: Unfolded | null;
}

export function releaseOf(schedule: StoredSchedule, version: number = schedule.version): Release {
  const { id, heldSince, heldUntil } = schedule;
  if (heldSince === null || heldUntil === null) throw new Error(`Schedule ${id} has no hold with an end.`);
  const unfolded = unfoldHeld(timetableOf(schedule), heldSince, heldUntil);
  return { schedule, version, until: heldUntil, unfolded };
}

/** Number of jobs made, at once or through the backlog. */
export function madeBy({ unfolded }: Release): number {
  return unfolded === null ? 0 : unfolded.runs.length + unfolded.backlog.length;
}

/** Makes the jobs that the end of one hold releases, ready at that end. */
export async function fireRelease(
  tx: Tx,
  state: ShardState,
  schedule: StoredSchedule,
  version: number,
): Promise<{ parcels: OutgoingParcel[]; made: number }> {
  const { parcels, made } = await fireReleases(tx, state, [releaseOf(schedule, version)]);
  return { parcels, made: made.get(schedule.id) ?? 0 };
}

/**
 * Releases many schedules of one shard in one statement: a shared hold of thousands ends at one
 * instant.
 */
export async function fireReleases(
  tx: Tx,
  state: ShardState,
  releases: readonly Release[],
): Promise<{ parcels: OutgoingParcel[]; made: ReadonlyMap<string, number> }> {
  const ending = releases.filter((release) => madeBy(release) > 0);
  if (ending.length === 0) return { parcels: [], made: new Map() };
  const instants = (of: "runs" | "backlog") =>
    ending.flatMap(({ schedule: { id }, unfolded }) => (unfolded?.[of] ?? []).map((run) => ({ id, ...run })));
  const [runs, backlog] = [instants("runs"), instants("backlog")];
  await attachMissingDays(tx, runs, state);
  const queues = ending.map(({ schedule }) => queueClass(schedule.body.target));
  const times = (of: readonly { id: string; at: number; due: number }[]) => tx`
    ${of.map(({ id }) => id)}::bigint[], ${tx.array(of.map(({ at }) => new Date(at)))}::timestamptz[],
    ${tx.array(of.map(({ due }) => new Date(due)))}::timestamptz[]`;
  const rows = await tx<ReleasedRow[]>`
    with ending as materialized (
      select e.*, s.overlap, s.lane, s.target_id, s.priority, s.team_id, s.max_fires
      from unnest(${ending.map(({ schedule }) => schedule.id)}::bigint[], ${ending.map(({ version }) => version)}::int[],
        ${tx.array(ending.map(({ until }) => until))}::timestamptz[], ${queues}::text[], ${queues.map((queue) => parcelMax[queue])}::int[])
        e (id, version, until, queue, most)
      cross join lateral (
        select overlap, lane, target_id, priority, team_id, max_fires from carillon.schedules where id = e.id offset 0) s
    ), run as materialized (
      select e.*, r.at, r.due_at, (row_number() over (partition by e.id order by r.at) - 1) / e.most as seat
      from unnest(${times(runs)}) r (id, at, due_at) join ending e on e.id = r.id
    ), packed as materialized (
      select nextval('carillon.parcels_id_seq') as parcel, p.* from (
        select id, version, until, queue, target_id, priority, team_id, array_agg(at order by at) as occurrences, array_agg(due_at order by at) as dues
        from run group by id, version, until, queue, target_id, priority, team_id, seat order by id, seat) p
    ), inserted_jobs as (
      insert into carillon.jobs (occurrence, schedule_id, due_at, ready_at, parcel_id, version, shard)
      select r.at, p.id, r.due_at, p.until, p.parcel, p.version, ${state.shard}::smallint
      from packed p cross join lateral unnest(p.occurrences, p.dues) r (at, due_at)
      on conflict do nothing
      returning schedule_id
    ), occurrences as (
      select id as schedule_id, due_at, at as occurrence, false as passed, 'cadence'::carillon.job_kind as kind, overlap, lane from run
    ), ${laneEntries(tx)}, inserted_parcels as (
      insert into carillon.parcels (id, shard, queue, ready_at, offer_at, held_schedule, target_id, priority, team_id, occurrences, schedule_ids)
      select p.parcel, ${state.shard}::smallint, p.queue::carillon.queue_class, p.until, ${state.now}::timestamptz + interval '20 seconds', p.id,
        carillon.apart_target(p.queue::carillon.queue_class, p.target_id), p.priority, p.team_id,
        p.occurrences, array_fill(p.id, array[cardinality(p.occurrences)])
      from packed p returning id, queue, ready_at, team_id
    ), owed as (
      insert into carillon.backlog (schedule_id, shard, kind, version, occurrences, dues, taken, turn_at, noted_at)
      select e.id, ${state.shard}::smallint, 'cadence', e.version, array_agg(o.at order by o.at), array_agg(o.due_at order by o.at), 0, e.until, ${state.now}
      from unnest(${times(backlog)}) o (id, at, due_at) join ending e on e.id = o.id group by e.id, e.version, e.until
      returning schedule_id, cardinality(occurrences) as jobs
    ), made as materialized (
      select schedule_id, sum(jobs)::int as jobs from (
        select schedule_id, 1 as jobs from inserted_jobs union all select schedule_id, jobs from owed) m group by schedule_id
    ), counted as (
      update carillon.schedules s set fires = s.fires + m.jobs
      from made m join ending e on e.id = m.schedule_id where s.id = m.schedule_id and e.max_fires is not null
    )
    select id, queue, (extract(epoch from ready_at - carillon.clock()) * 1000)::float8 as "waitMs", carillon.message_group(team_id, id) as group, null::bigint as schedule, null::int as jobs
    from inserted_parcels
    union all
    select null, null, null, null, schedule_id, jobs from made
    order by 1`;
  return {
    parcels: rows.flatMap((row) =>
      row.id === null ? [] : [{ id: row.id, queue: row.queue, waitMs: row.waitMs, group: row.group }],
    ),
    made: new Map(rows.flatMap((row) => (row.id === null ? [[row.schedule, row.jobs] as const] : []))),
  };
}

type ReleasedRow = OutgoingParcel | { id: null; schedule: string; jobs: number };
