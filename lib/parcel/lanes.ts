import type postgres from "postgres";
import type { Tx } from "../db/connect.ts";
import { lockLane } from "../db/locks.ts";
import type { ScheduleBody } from "../schedule/schedule-body.ts";
import type { OutgoingParcel } from "./parcel-queue.ts";

type Overlap = ScheduleBody["overlap"];

/** So many parcels are sent by the edit that lets them go; the sweep sends what is left. */
const sentMax = 1_000;

/**
 * For a statement that makes cadence jobs: their places in the lanes of schedules that forbid overlaps. `occurrences` there names
 * schedule_id, due_at, occurrence, whether it is only passed over (passed), and the schedule's rule (overlap; null: none).
 */
export function laneEntries(tx: Tx): postgres.PendingQuery<postgres.Row[]> {
  return tx`
    lane_entries_made as (
      insert into carillon.lane_entries (lane, due_at, occurrence, schedule_id, kind, n)
      select carillon.lane_of(o.schedule_id), o.due_at, o.occurrence, o.schedule_id, 'cadence', 0
      from occurrences o where o.overlap is not null and not o.passed
      on conflict do nothing
    )`;
}

/**
 * Brings the lane of a schedule into line with an edit: after its new version stands and what is not due at the cut is withdrawn,
 * before anything is planned anew. Where the rule changes, whoever waits comes to a claim again, which decides by the new one.
 */
export async function rearrangeLane(
  tx: Tx,
  schedule: { id: string; shard: number },
  { before, after, cut }: { before: Overlap; after: Overlap; cut: Date },
): Promise<OutgoingParcel[]> {
  if (before === "allow" && after === "allow") return [];
  // Before the lane is locked: the lock order. Under the gate nothing more is claimed, so what runs now is all that does.
  if (before === "allow") await markRunning(tx, schedule);
  await lockLane(tx, schedule.id);
  await tx`
    delete from carillon.lane_entries e
    where e.lane = carillon.lane_of(${schedule.id}) and (${after === "allow"} or (e.due_at > ${cut} and not exists (
      select from carillon.jobs j where j.occurrence = e.occurrence and j.schedule_id = e.schedule_id and j.kind = e.kind and j.n = e.n
        and j.state = 'waiting')))`;
  if (before === "allow") await enterLane(tx, schedule);
  return before === after ? [] : releaseLane(tx, schedule.id);
}

/** Cancels what waits in the lane of a schedule that is being deleted. */
export async function cancelLane(tx: Tx, scheduleId: string): Promise<void> {
  await lockLane(tx, scheduleId);
  await tx`
    with gone as (
      delete from carillon.parcels where lane = carillon.lane_of(${scheduleId}) returning id, occurrences, schedule_ids, kinds, ns
    ), left_lane as (
      delete from carillon.lane_entries where lane = carillon.lane_of(${scheduleId})
    )
    update carillon.jobs j
    set state = 'cancelled', reason = 'deleted', parcel_id = null, ready_at = null, finished_at = carillon.clock()
    from gone g
    where j.occurrence = g.occurrences[1] and j.schedule_id = g.schedule_ids[1] and j.kind = g.kinds[1] and j.n = g.ns[1]
      and j.state = 'waiting' and j.parcel_id = g.id`;
}

/** What runs already, claimed when overlaps were allowed, hands the lane over when it is settled. */
async function markRunning(tx: Tx, { id, shard }: { id: string; shard: number }): Promise<void> {
  await tx`
    update carillon.parcels set laned = true
    where shard = ${shard} and lease_until is not null and laned is not true and ${id}::bigint = any(schedule_ids)`;
}

/** Whatever waits of a schedule that allowed overlaps until now gets its place in the lane, and what runs is inside. */
async function enterLane(tx: Tx, { id, shard }: { id: string; shard: number }): Promise<void> {
  await tx`
    insert into carillon.lane_entries (lane, due_at, occurrence, schedule_id, kind, n, entered)
    select carillon.lane_of(j.schedule_id), j.due_at, j.occurrence, j.schedule_id, j.kind, j.n, p.lease_until is not null
    from carillon.parcels p
    cross join lateral unnest(p.occurrences, p.schedule_ids, p.kinds) k (occurrence, schedule_id, kind)
    cross join lateral (
      select j.* from carillon.jobs j
      where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = 'cadence' and j.n = 0
        and j.state = 'waiting' and j.parcel_id = p.id offset 0) j
    where p.shard = ${shard} and ${id}::bigint = any(p.schedule_ids) and k.schedule_id = ${id} and coalesce(k.kind, 'cadence') = 'cadence'
    on conflict do nothing`;
}

async function releaseLane(tx: Tx, scheduleId: string): Promise<OutgoingParcel[]> {
  const released = await tx<OutgoingParcel[]>`
    update carillon.parcels
    set lane = null, ready_at = carillon.clock(), offer_at = carillon.clock() + interval '20 seconds', offers = 0
    where lane = carillon.lane_of(${scheduleId})
    returning id, queue, 0::float8 as "waitMs"`;
  return released.slice(0, sentMax);
}
