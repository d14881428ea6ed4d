import type { Tx } from "../db/connect.ts";
import { laneEntries } from "../parcel/lanes.ts";
import { type OutgoingParcel, parcelMax } from "../parcel/parcel-queue.ts";
import { queueClass } from "../schedule/queue-class.ts";
import type { StoredSchedule } from "../schedule/stored-schedule.ts";
import { afterFires, dueAt, firstDueAfter, type Timetable, timetableOf } from "../schedule/timetable.ts";
import { attachMissingDays } from "./attach-days.ts";
import { momentOf, type Unfolded, unfold } from "./instants.ts";
import { insertPlanRow, type Planned, planFrom } from "./plan-schedule.ts";
import { parcelsOfPulses } from "./pulse-parcels.ts";
import { missedAfterMs, plannedUpTo, type ShardState } from "./shard.ts";

/**
 * A hold that ends by itself is evaluated, not executed: the schedule keeps standing as held, and whoever looks compares its
 * end with the clock. What is due after the end is planned at once. What was due under the hold is planned as one row of
 * its own, due at the end: the tick makes of it what the catch-up policy chooses, ahead of time like everything, in parcels that
 * are ready when the hold ends. What was passed over is noted after the end, when nothing can change it any more.
 */
export async function planBeyondHold(
  tx: Tx,
  state: ShardState,
  schedule: StoredSchedule,
  planned: Planned,
  held: { since: Date; until: Date },
): Promise<OutgoingParcel[]> {
  if (planned.pulse) return parcelsOfPulses(tx, [planned.id]);
  const until = held.until.getTime();
  let { timetable } = planned;
  const first = firstDueAfter(timetable, held.since.getTime());
  const parcels: OutgoingParcel[] = [];
  if (first !== null && dueAt(timetable, first) <= until) {
    if (held.until > plannedUpTo(state, planned.id)) {
      await insertPlanRow(tx, state, { ...planned, governed: true }, { occurrence: first, due: until });
    } else {
      const underHold = { ...schedule, heldSince: held.since, heldUntil: held.until };
      const released = await fireRelease(tx, state, underHold, planned.version);
      parcels.push(...released.parcels);
      timetable = afterFires(timetable, released.made);
    }
  }
  const after = await planFrom(tx, state, { ...planned, timetable }, firstDueAfter(timetable, until));
  return [...parcels, ...after];
}

/** True for the one plan row that stands for what is due under a hold: no other of its schedule is due at the hold's very end. */
export function isRelease(
  timetable: Timetable,
  heldUntil: Date | null,
  row: { occurrence: Date; dueAt: Date },
): boolean {
  if (heldUntil === null || row.dueAt.getTime() !== heldUntil.getTime()) return false;
  return dueAt(timetable, row.occurrence.getTime()) <= heldUntil.getTime();
}

/** What becomes of the occurrences that are due under a hold that ends by itself: the same whenever it is asked. */
export function unfoldHeld(timetable: Timetable, heldSince: Date, heldUntil: Date): Unfolded | null {
  const until = heldUntil.getTime();
  const first = firstDueAfter(timetable, heldSince.getTime());
  if (first === null || dueAt(timetable, first) > until) return null;
  const moment = momentOf(timetable, { now: until, bound: until, missedAfterMs });
  return unfold(timetable, first, { ...moment, heldUpTo: moment.missedUpTo });
}

/** What the policy alone chooses: a limit that its own runs have used up since would tell otherwise. */
export function withoutLimit(timetable: Timetable): Timetable {
  return { ...timetable, firesLeft: null };
}

/** Makes the jobs that the end of a hold lets go, ready when it ends. */
export async function fireRelease(
  tx: Tx,
  state: ShardState,
  schedule: StoredSchedule,
  version: number,
): Promise<{ parcels: OutgoingParcel[]; made: number }> {
  const { id, shard, heldSince, heldUntil, body } = schedule;
  if (heldSince === null || heldUntil === null) throw new Error(`Schedule ${id} has no hold that ends.`);
  const unfolded = unfoldHeld(timetableOf(schedule), heldSince, heldUntil);
  if (unfolded === null) return { parcels: [], made: 0 };
  const { runs, backlog } = unfolded;
  await attachMissingDays(tx, runs, state);
  const queue = queueClass(body.target);
  const column = (of: (run: { at: number; due: number }) => number) =>
    tx.array(runs.map((run) => new Date(of(run))));
  const parcels = await tx<(OutgoingParcel & { jobs: number })[]>`
    with run as (
      select r.*, (row_number() over (order by at) - 1) / ${parcelMax[queue]}::int as seat
      from unnest(${column(({ at }) => at)}::timestamptz[], ${column(({ due }) => due)}::timestamptz[]) r (at, due_at)
    ), packed as materialized (
      select nextval('carillon.parcels_id_seq') as id, array_agg(at order by at) as occurrences, array_agg(due_at order by at) as dues
      from run group by seat
    ), inserted_jobs as (
      insert into carillon.jobs (occurrence, schedule_id, due_at, ready_at, parcel_id, version, shard)
      select r.at, ${id}, r.due_at, ${heldUntil}, p.id, ${version}, ${shard}::smallint
      from packed p cross join lateral unnest(p.occurrences, p.dues) r (at, due_at)
      on conflict do nothing
      returning 1
    ), occurrences as (
      select ${id}::bigint as schedule_id, due_at, at as occurrence, false as passed, 'cadence'::carillon.job_kind as kind, s.overlap, s.lane
      from run cross join lateral (select overlap, lane from carillon.schedules where id = ${id}) s
    ), ${laneEntries(tx)}, inserted_parcels as (
      insert into carillon.parcels (id, shard, queue, ready_at, offer_at, held_schedule, target_id, priority, occurrences, schedule_ids)
      select p.id, ${shard}::smallint, ${queue}::carillon.queue_class, ${heldUntil}, ${state.now}::timestamptz + interval '20 seconds', ${id},
        carillon.apart_target(${queue}::carillon.queue_class, s.target_id), s.priority,
        p.occurrences, array_fill(${id}::bigint, array[cardinality(p.occurrences)])
      from packed p cross join lateral (select target_id, priority from carillon.schedules where id = ${id}) s returning id, queue, ready_at
    )
    select id, queue, (extract(epoch from ready_at - carillon.clock()) * 1000)::float8 as "waitMs",
      (select count(*)::int from inserted_jobs) as jobs from inserted_parcels`;
  if (backlog.length > 0) {
    await tx`
      insert into carillon.backlog (schedule_id, shard, kind, version, occurrences, dues, taken, turn_at, noted_at)
      values (${id}, ${shard}, 'cadence', ${version}, ${tx.array(backlog.map(({ at }) => new Date(at)))}::timestamptz[],
        ${tx.array(backlog.map(({ due }) => new Date(due)))}::timestamptz[], 0, ${heldUntil}, ${state.now})`;
  }
  const made = (parcels[0]?.jobs ?? 0) + backlog.length;
  await tx`update carillon.schedules set fires = fires + ${made} where id = ${id} and max_fires is not null`;
  return {
    parcels: parcels.map(({ id: parcel, queue: of, waitMs }) => ({ id: parcel, queue: of, waitMs })),
    made,
  };
}
