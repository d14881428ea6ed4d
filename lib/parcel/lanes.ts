import type postgres from "postgres";
import type { Tx } from "../db/connect.ts";
import { lockLanes } from "../db/locks.ts";
import type { ScheduleBody } from "../schedule/shape/schedule-body.ts";
import type { OutgoingParcel } from "./parcel-queue.ts";

/** The most parcels that an edit sends after it has released them; the sweep sends the rest. */
const sentMax = 1_000;

/**
 * The lanes that the jobs of a schedule pass: its own lane if it forbids overlaps (cadence jobs
 * alone), and a lane of its group.
 */
export interface LaneRules {
  overlap: ScheduleBody["overlap"];
  lane: string | null;
}

interface InShard {
  id: string;
  shard: number;
}

export function laneRules({ body, lane }: { body: ScheduleBody; lane: string | null }): LaneRules {
  return { overlap: body.overlap, lane };
}

/**
 * Part of a statement that makes jobs: enters the jobs into their lanes, so that no job that is due
 * later passes before them. The statement's `occurrences` has the columns schedule_id, due_at,
 * occurrence, kind, passed (the occurrence gets no job), and the schedule's overlap and lane (null:
 * none).
 */
export function laneEntries(tx: Tx): postgres.PendingQuery<postgres.Row[]> {
  return tx`
    lane_entries_made as (
      insert into carillon.lane_entries (lane, due_at, occurrence, schedule_id, kind, n)
      select l.lane, o.due_at, o.occurrence, o.schedule_id, o.kind, 0
      from occurrences o cross join lateral (values
        (case when o.overlap is not null and o.kind = 'cadence' then carillon.lane_of(o.schedule_id) end), (o.lane)) l (lane)
      where (o.overlap is not null or o.lane is not null) and not o.passed and l.lane is not null
      on conflict do nothing
    )`;
}

/**
 * Adapts the lanes of a schedule to an edit. The edit has written its new version and withdrawn the
 * jobs that are not due at the cut, and has not planned the next occurrences yet. If a rule
 * changes, waiting jobs are released to a claim, which decides by the new rule.
 */
export async function rearrangeLanes(
  tx: Tx,
  schedule: InShard,
  { before, after, cut, isHeld }: { before: LaneRules; after: LaneRules; cut: Date; isHeld: boolean },
): Promise<OutgoingParcel[]> {
  const [left, stands] = [lanesOf(schedule.id, before), lanesOf(schedule.id, after)];
  const all = [...new Set([...left, ...stands])];
  if (all.length === 0) return [];
  const entered = stands.filter((lane) => !left.includes(lane));
  // Before the lanes are locked, since parcels come before lanes in the lock order. The gate keeps
  // new claims out, so no other job starts meanwhile.
  if (entered.length > 0) await markRunning(tx, schedule);
  await lockLanes(tx, schedule.id, all);
  if (entered.length > 0) await enterLanes(tx, schedule, entered, left);
  await leaveLanes(tx, schedule, { stands, left, cut });
  const rulesChanged = before.overlap !== after.overlap ? [ownLane(schedule.id)] : [];
  const released = await release(tx, schedule.id, [
    ...rulesChanged,
    ...left.filter((lane) => !stands.includes(lane)),
  ]);
  if (isHeld) await holdInLanes(tx, schedule.id, stands);
  return [...released, ...(await handOverLanes(tx, all))];
}

/** A schedule and the lanes that its jobs pass. */
export interface Passing {
  id: string;
  rules: LaneRules;
}

/**
 * Like `rearrangeLanes`, for schedules whose lanes do not change: takes withdrawn jobs out of the
 * lanes.
 */
export async function keepLanes(tx: Tx, schedules: readonly Passing[], cut: Date): Promise<OutgoingParcel[]> {
  const { lanes, ids } = placesOf(schedules);
  if (lanes.length === 0) return [];
  await tx`
    delete from carillon.lane_entries e using unnest(${lanes}::text[], ${ids}::bigint[]) l (lane, id)
    where e.lane = l.lane and e.schedule_id = l.id and e.due_at > ${cut} and not exists (
      select from carillon.jobs j where j.occurrence = e.occurrence and j.schedule_id = e.schedule_id and j.kind = e.kind and j.n = e.n
        and j.state = 'waiting')`;
  return handOverLanes(tx, [...new Set(lanes)]);
}

/**
 * Cancels jobs that wait in the lanes of a schedule that is being deleted. A running job keeps the
 * others waiting until it ends.
 */
export async function cancelInLanes(
  tx: Tx,
  schedule: { id: string; body: ScheduleBody; lane: string | null },
): Promise<OutgoingParcel[]> {
  const passing = { id: schedule.id, rules: laneRules(schedule) };
  const { lanes } = placesOf([passing]);
  if (lanes.length > 0) await lockLanes(tx, schedule.id, lanes);
  return cancelInLanesOf(tx, [passing]);
}

/** As `cancelInLanes`, for several schedules whose lanes the caller has locked. */
export async function cancelInLanesOf(tx: Tx, schedules: readonly Passing[]): Promise<OutgoingParcel[]> {
  const { lanes, ids } = placesOf(schedules);
  if (lanes.length === 0) return [];
  await tx`
    with gone as (
      delete from carillon.parcels p using unnest(${lanes}::text[], ${ids}::bigint[]) l (lane, id)
      where p.lane = l.lane and p.schedule_ids[1] = l.id
      returning p.id, p.occurrences, p.schedule_ids, p.kinds, p.ns
    )
    update carillon.jobs j
    set state = 'cancelled', reason = 'deleted', parcel_id = null, ready_at = null, finished_at = carillon.clock()
    from gone g
    where j.occurrence = g.occurrences[1] and j.schedule_id = g.schedule_ids[1] and j.kind = g.kinds[1] and j.n = g.ns[1]
      and j.state = 'waiting' and j.parcel_id = g.id`;
  await tx`
    delete from carillon.lane_entries e using unnest(${lanes}::text[], ${ids}::bigint[]) l (lane, id)
    where e.lane = l.lane and e.schedule_id = l.id and not exists (
      select from carillon.jobs j join carillon.parcels p on p.id = j.parcel_id and p.lease_until is not null
      where j.occurrence = e.occurrence and j.schedule_id = e.schedule_id and j.kind = e.kind and j.n = e.n and j.state = 'waiting')`;
  return handOverLanes(tx, [...new Set(lanes)]);
}

function placesOf(schedules: readonly Passing[]): { lanes: string[]; ids: string[] } {
  const places = schedules.flatMap(({ id, rules }) => lanesOf(id, rules).map((lane) => ({ lane, id })));
  return { lanes: places.map(({ lane }) => lane), ids: places.map(({ id }) => id) };
}

function ownLane(scheduleId: string): string {
  return `schedule/${scheduleId}`;
}

/** The lanes of a schedule's jobs, in the order in which a job waits for them. */
function lanesOf(scheduleId: string, { overlap, lane }: LaneRules): string[] {
  return [...(overlap === "allow" ? [] : [ownLane(scheduleId)]), ...(lane === null ? [] : [lane])];
}

/**
 * Marks parcels with a running job of the schedule that was claimed without a lane: their settle
 * hands the lane over.
 */
async function markRunning(tx: Tx, { id, shard }: InShard): Promise<void> {
  await tx`
    update carillon.parcels set laned = true
    where id in (select carillon.parcels_of(array[${id}::bigint])) and shard = ${shard} and lease_until is not null and laned is not true`;
}

/**
 * Enters waiting jobs into lanes that are new to their schedule. A running job counts as entered.
 * So does a job that had entered one of the earlier lanes: no job may be inside one serial lane and
 * outside another. Lanes of grouped handlers are excepted, since jobs pass them together. In other
 * shards only parcels of grouped handlers hold jobs of this schedule.
 */
async function enterLanes(tx: Tx, { id, shard }: InShard, lanes: string[], left: string[]): Promise<void> {
  await tx`
    insert into carillon.lane_entries (lane, due_at, occurrence, schedule_id, kind, n, entered)
    select l.lane, j.due_at, j.occurrence, j.schedule_id, j.kind, j.n, p.lease_until is not null or (l.lane not like 'grouped/%' and exists (
      select from carillon.lane_entries e where e.lane = any(${left}::text[]) and e.due_at = j.due_at and e.occurrence = j.occurrence
        and e.schedule_id = j.schedule_id and e.kind = j.kind and e.n = j.n and e.entered))
    from carillon.parcels_of(array[${id}::bigint]) own (id) join carillon.parcels p on p.id = own.id
    cross join lateral unnest(p.occurrences, p.schedule_ids, p.kinds, p.ns) k (occurrence, schedule_id, kind, n)
    cross join lateral (
      select j.* from carillon.jobs j
      where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0)
        and j.state = 'waiting' and j.parcel_id = p.id offset 0) j
    cross join unnest(${lanes}::text[]) l (lane)
    where (p.shard = ${shard} or (p.laned and p.lease_until is not null))
      and k.schedule_id = ${id} and (j.kind = 'cadence' or l.lane not like 'schedule/%')
    on conflict do nothing`;
}

/**
 * Deletes the entries of lanes that the schedule no longer passes, and the entries of withdrawn
 * jobs: such a job may come again with another due time.
 */
async function leaveLanes(
  tx: Tx,
  { id }: InShard,
  { stands, left, cut }: { stands: string[]; left: string[]; cut: Date },
): Promise<void> {
  await tx`
    delete from carillon.lane_entries e
    where e.lane = any(${left}::text[]) and e.schedule_id = ${id} and (e.lane <> all(${stands}::text[]) or (e.due_at > ${cut} and not exists (
      select from carillon.jobs j where j.occurrence = e.occurrence and j.schedule_id = e.schedule_id and j.kind = e.kind and j.n = e.n
        and j.state = 'waiting')))`;
}

async function release(tx: Tx, scheduleId: string, lanes: string[]): Promise<OutgoingParcel[]> {
  if (lanes.length === 0) return [];
  const released = await tx<OutgoingParcel[]>`
    update carillon.parcels
    set lane = null, ready_at = carillon.clock(), offer_at = carillon.clock() + interval '20 seconds', offers = 0
    where lane = any(${lanes}::text[]) and schedule_ids[1] = ${scheduleId}
    returning id, queue, 0::float8 as "waitMs"`;
  return released.slice(0, sentMax);
}

/**
 * Makes jobs that wait for their turn wait for the hold instead, which may end by itself. They keep
 * their order in the lane for that time, and delay no other job meanwhile.
 */
async function holdInLanes(tx: Tx, scheduleId: string, lanes: string[]): Promise<void> {
  await tx`
    update carillon.parcels set lane = null, held_schedule = ${scheduleId}
    where lane = any(${lanes}::text[]) and schedule_ids[1] = ${scheduleId} and kinds[1] <> 'manual'`;
}

/** Gives the turns in these lanes after the edit, and returns the parcels that have them. */
async function handOverLanes(tx: Tx, lanes: string[]): Promise<OutgoingParcel[]> {
  if (lanes.length === 0) return [];
  return tx<
    OutgoingParcel[]
  >`select id, queue, 0::float8 as "waitMs" from carillon.hand_over_lanes(${lanes}::text[])`;
}
