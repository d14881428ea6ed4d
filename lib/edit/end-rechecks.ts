import type { Tx } from "../db/connect.ts";
import { lockLane } from "../db/locks.ts";
import { keptPlan } from "../db/statement.ts";
import { ownJob } from "../history/rechecks.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import type { StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import type { RaisedVersion } from "../schedule/stored/version-rows.ts";
import { asksForElse } from "../schedule/write-schedule.ts";

interface WaitingRecheck {
  occurrence: Date;
  n: number;
  parcel: string;
}

/**
 * An edit of time, target or payload cancels the rechecks of the previous request. A delete cancels
 * all rechecks.
 */
export async function endRechecksBy(
  tx: Tx,
  current: StoredSchedule,
  edit: Pick<RaisedVersion, "change" | "spec"> & { delete?: boolean },
): Promise<OutgoingParcel[]> {
  if (edit.delete === true) return endRechecks(tx, current.id, "deleted");
  return asksForElse(current, edit) ? endRechecks(tx, current.id, "superseded") : [];
}

/** Selects those of the given schedules that have waiting rechecks. */
export async function withWaitingRechecks(
  tx: Tx,
  scheduleIds: readonly string[],
): Promise<ReadonlySet<string>> {
  if (scheduleIds.length === 0) return new Set();
  const rows = await keptPlan(tx<{ id: string }[]>`
    select distinct b.schedule_id as id
    from unnest(${scheduleIds}::bigint[]) k (id)
    cross join lateral (select * from carillon.jobs_beside b where b.schedule_id = k.id and b.kind = 'again' offset 0) b
    cross join lateral ${ownJob(tx)} j
    where j.state = 'waiting'`);
  return new Set(rows.map(({ id }) => id));
}

/**
 * Cancels the waiting rechecks of a schedule, due or not, also those that are to be retried. The
 * gate is held, so meanwhile no recheck starts and none is made. A running recheck ends, and a
 * further recheck that it requests is dropped. A recheck whose worker died is cancelled when it is
 * claimed again. Returns the parcels of other jobs that may now pass a lane.
 */
async function endRechecks(
  tx: Tx,
  scheduleId: string,
  reason: "superseded" | "deleted",
): Promise<OutgoingParcel[]> {
  const waiting = await keptPlan(tx<WaitingRecheck[]>`
    select b.occurrence, b.n, j.parcel_id as parcel
    from (select * from carillon.jobs_beside where schedule_id = ${scheduleId} and kind = 'again' offset 0) b
    cross join lateral ${ownJob(tx)} j
    cross join lateral (select from carillon.parcels where id = j.parcel_id and lease_until is null offset 0) p
    where j.state = 'waiting'`);
  if (waiting.length === 0) return [];
  // The lane is locked before the parcels of the rechecks. Some of these parcels may wait in the
  // lane. On the others, no transaction that needs the lane holds a lock.
  await lockLane(tx, scheduleId);
  const occurrences = tx.array(waiting.map(({ occurrence }) => occurrence));
  const ns = waiting.map(({ n }) => n);
  await tx`
    update carillon.jobs j
    set state = 'cancelled', reason = ${reason}, parcel_id = null, ready_at = null, finished_at = carillon.clock()
    from unnest(${occurrences}::timestamptz[], ${ns}::int[]) k (occurrence, n)
    where j.occurrence = k.occurrence and j.schedule_id = ${scheduleId} and j.kind = 'again' and j.n = k.n and j.state = 'waiting'`;
  // A job to be retried may share its parcel with others. A parcel with a granted turn at a target
  // stays: its claim finds no job in it and passes the turn on.
  await tx`
    delete from carillon.parcels p
    where p.id = any(${waiting.map(({ parcel }) => parcel)}::bigint[]) and p.lease_until is null and p.turn is distinct from 'granted' and not exists (
      select from unnest(p.occurrences, p.schedule_ids, p.kinds, p.ns) k (occurrence, schedule_id, kind, n)
      join carillon.jobs j on j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence')
        and j.n = coalesce(k.n, 0) and j.state = 'waiting' and j.parcel_id = p.id)`;
  return tx<OutgoingParcel[]>`
    select id, queue, 0::float8 as "waitMs"
    from carillon.leave_lanes(${occurrences}::timestamptz[], ${waiting.map(() => scheduleId)}::bigint[],
      ${waiting.map(() => "again")}::text[]::carillon.job_kind[], ${ns}::int[], carillon.clock())`;
}
