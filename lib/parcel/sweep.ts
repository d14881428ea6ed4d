import type { Sql, Tx } from "../db/connect.ts";
import type { Log } from "../log/log.ts";
import { defaults } from "../schedule/stored-schedule.ts";
import type { OutgoingParcel } from "./parcel-queue.ts";

interface DueParcel {
  id: string;
  lease: "none" | "ended" | "live";
  single: boolean;
  /** Of its first job, which is its only one where `single`. */
  occurrence: Date;
  scheduleId: string;
  laned: boolean;
}

/** So many parcels are looked at in one transaction; the tick repeats it while there is more. */
export const sweepMax = 1_000;

export interface Swept {
  /** `sweepMax` where there may be more. */
  looked: number;
  outgoing: OutgoingParcel[];
}

/**
 * Finds the parcels that are to be offered by now: never sent, sent but not claimed, or with a lease that has ended.
 * - Unclaimed ones are offered again, each later than the time before (1, 2, 4 … 32 minutes): a backlog is not multiplied.
 * - A parcel whose lease ended is taken from its worker. Of several jobs each goes into a parcel of its own, so that a
 *   poison job cannot take its neighbours with it again, and none is charged an attempt. A job that was alone is.
 * - What waits in a lane is offered when its turn has come, should whoever knew of it have died before it said so.
 */
export async function sweep(sql: Sql, log: Log): Promise<Swept> {
  const travelling = await sweepTravelling(sql, log);
  const lanes = await sweepLanes(sql);
  return {
    looked: Math.max(travelling.looked, lanes.looked),
    outgoing: [...travelling.outgoing, ...lanes.outgoing],
  };
}

function sweepTravelling(sql: Sql, log: Log): Promise<Swept> {
  return sql.begin(async (tx) => {
    // The clock is asked in a query of its own: compared with directly it would be asked again for each parcel there is.
    const due = await tx<DueParcel[]>`
      select id, cardinality(occurrences) = 1 as single, occurrences[1] as occurrence, schedule_ids[1] as "scheduleId", laned is true as laned,
        case when lease_until is null then 'none' when lease_until < carillon.clock() then 'ended' else 'live' end as lease
      from carillon.parcels where offer_at <= (select carillon.clock()) and lane is null
      order by offer_at limit ${sweepMax} for update skip locked`;
    const ids = (wanted: (parcel: DueParcel) => boolean) => due.filter(wanted).map(({ id }) => id);
    const crowded = ids(({ lease, single }) => lease === "ended" && !single);
    const alone = ids(({ lease, single }) => lease === "ended" && single);
    const inLanes = due.filter(({ lease, single, laned }) => lease === "ended" && single && laned);
    const unclaimed = ids(({ lease }) => lease === "none");
    await keepUntilLeaseEnds(
      tx,
      ids(({ lease }) => lease === "live"),
    );
    const outgoing = [
      ...(await splitUp(tx, crowded)),
      ...(await countCrash(tx, alone)),
      ...(await leaveLanes(tx, inLanes)),
      ...(await offerAgain(tx, unclaimed)),
    ];
    if (crowded.length + alone.length > 0)
      log.warn("parcel.lease-ended", { parcels: crowded.length + alone.length });
    return { looked: due.length, outgoing };
  });
}

/** Without a lock on what waits: the lanes are locked first, and in one go. */
async function sweepLanes(sql: Sql): Promise<Swept> {
  const rows = await sql<({ looked: number } & (OutgoingParcel | { id: null; queue: null }))[]>`
    select looked, id, queue, 0::float8 as "waitMs" from carillon.sweep_lanes(${sweepMax})`;
  return {
    looked: rows[0]?.looked ?? 0,
    outgoing: rows.flatMap(({ looked: _looked, ...parcel }) => (parcel.id === null ? [] : [parcel])),
  };
}

/** A job that is dead by the sweep hands its lane over; one that is to be tried again keeps its place. */
async function leaveLanes(tx: Tx, ended: readonly DueParcel[]): Promise<OutgoingParcel[]> {
  if (ended.length === 0) return [];
  return tx<OutgoingParcel[]>`
    select id, queue, 0::float8 as "waitMs"
    from carillon.leave_lanes(${tx.array(ended.map(({ occurrence }) => occurrence))}::timestamptz[],
      ${ended.map(({ scheduleId }) => scheduleId)}::bigint[], null, null, carillon.clock())`;
}

async function keepUntilLeaseEnds(tx: Tx, ids: string[]): Promise<void> {
  if (ids.length === 0) return;
  await tx`update carillon.parcels set offer_at = lease_until where id = any(${ids}::bigint[])`;
}

async function splitUp(tx: Tx, ids: string[]): Promise<OutgoingParcel[]> {
  if (ids.length === 0) return [];
  return tx<OutgoingParcel[]>`
    with ended as (
      delete from carillon.parcels where id = any(${ids}::bigint[]) returning *
    ), singles as materialized (
      select nextval('carillon.parcels_id_seq') as id, e.id as old_id, e.shard, e.queue, j.occurrence, j.schedule_id, j.kind, j.n
      from ended e
      cross join lateral unnest(e.occurrences, e.schedule_ids, e.kinds, e.ns) k (occurrence, schedule_id, kind, n)
      cross join lateral (
        select j.occurrence, j.schedule_id, j.kind, j.n from carillon.jobs j
        where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence')
          and j.n = coalesce(k.n, 0) and j.state = 'waiting' and j.parcel_id = e.id offset 0) j
    ), moved as (
      update carillon.jobs j set parcel_id = s.id from singles s
      where j.occurrence = s.occurrence and j.schedule_id = s.schedule_id and j.kind = s.kind and j.n = s.n
    )
    insert into carillon.parcels (id, shard, queue, ready_at, offer_at, offers, occurrences, schedule_ids, kinds, ns)
    select id, shard, queue, carillon.clock(), carillon.clock() + interval '1 minute', 1,
      array[occurrence], array[schedule_id], array[kind], array[n] from singles
    returning id, queue, 0::float8 as "waitMs"`;
}

/** A job that was alone when its lease ended had started: that was an attempt, and after the last one it is dead. */
async function countCrash(tx: Tx, ids: string[]): Promise<OutgoingParcel[]> {
  if (ids.length === 0) return [];
  return tx<OutgoingParcel[]>`
    with ended as materialized (
      select p.id, p.claimed_at, p.lease_until, j.occurrence, j.schedule_id, j.kind, j.n, j.attempt + 1 as attempt,
        j.attempt + 1 >= coalesce((v.body -> 'retry' ->> 'attempts')::int, ${defaults.retry.attempts}) as dead
      from carillon.parcels p
      join carillon.jobs j on j.occurrence = p.occurrences[1] and j.schedule_id = p.schedule_ids[1]
        and j.kind = coalesce(p.kinds[1], 'cadence') and j.n = coalesce(p.ns[1], 0) and j.state = 'waiting' and j.parcel_id = p.id
      join carillon.schedules s on s.id = j.schedule_id
      join carillon.schedule_versions v on v.schedule_id = s.id and v.version = s.spec_version
      where p.id = any(${ids}::bigint[])
    ), counted as (
      update carillon.jobs j set attempt = e.attempt, started_at = coalesce(j.started_at, e.claimed_at),
        error = ${leaseEndedError}, ready_at = case when not e.dead then carillon.clock() end,
        state = case when e.dead then 'dead'::carillon.job_state else j.state end,
        reason = case when e.dead then 'attempts' end,
        finished_at = case when e.dead then carillon.clock() end,
        parcel_id = case when not e.dead then j.parcel_id end
      from ended e where j.occurrence = e.occurrence and j.schedule_id = e.schedule_id and j.kind = e.kind and j.n = e.n
    ), recorded as (
      insert into carillon.attempts (occurrence, schedule_id, kind, n, attempt, started_at, finished_at, outcome, error)
      select occurrence, schedule_id, kind, n, attempt, claimed_at, lease_until, 'crashed', ${leaseEndedError} from ended
    ), removed as (
      delete from carillon.parcels p
      where p.id = any(${ids}::bigint[]) and not exists (select from ended e where e.id = p.id and not e.dead)
    )
    update carillon.parcels p set fence = p.fence + 1, claimed_at = null, lease_until = null,
      ready_at = carillon.clock(), offers = 1, offer_at = carillon.clock() + interval '1 minute'
    from ended e where e.id = p.id and not e.dead
    returning p.id, p.queue, 0::float8 as "waitMs"`;
}

async function offerAgain(tx: Tx, ids: string[]): Promise<OutgoingParcel[]> {
  if (ids.length === 0) return [];
  return tx<OutgoingParcel[]>`
    update carillon.parcels set offers = least(offers + 1, 100),
      offer_at = greatest(ready_at, carillon.clock()) + interval '1 minute' * power(2, least(offers, 5))
    where id = any(${ids}::bigint[])
    returning id, queue, greatest(0, extract(epoch from ready_at - carillon.clock()) * 1000)::float8 as "waitMs"`;
}

const leaseEndedError = "The worker stopped without an answer: its lease ended.";
