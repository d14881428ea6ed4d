import type { Sql, Tx } from "../db/connect.ts";
import type { Log } from "../log/log.ts";
import { endLease } from "./end-lease.ts";
import type { OutgoingParcel } from "./parcel-queue.ts";
import { type Notify, notifyByDefault } from "./settle.ts";

interface DueParcel {
  id: string;
  lease: "none" | "ended" | "live";
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
 * - A parcel whose lease ended is taken from its worker (`end_lease`).
 * - What waits in a lane or at a target is offered when its turn has come, should whoever knew of it have died before it said so.
 */
export async function sweep(sql: Sql, log: Log, notify: Notify = notifyByDefault): Promise<Swept> {
  const travelling = await sweepTravelling(sql);
  const ended = await endLeases(sql, log, travelling.ended, notify);
  const lanes = await sweepLanes(sql);
  return {
    looked: Math.max(travelling.looked, lanes.looked),
    outgoing: [...travelling.outgoing, ...ended, ...lanes.outgoing, ...(await sweepTurns(sql))],
  };
}

/** A lease that may end before the next tick is watched by a message that arrives when it does. */
export const watchedMs = 75_000;
/** A message goes a second ahead of its time, and the lease must have ended. */
const afterLeaseMs = 2_000;

/**
 * The parcels under a lease that may end before the next tick, to be sent so that they arrive then. Whoever gets such a message finds
 * the parcel settled, its lease gone on, or a worker that has died: then its jobs go on within seconds, not with the next tick.
 */
export async function watchedLeases(sql: Sql): Promise<OutgoingParcel[]> {
  return sql<OutgoingParcel[]>`
    select id, queue, greatest(0, extract(epoch from lease_until - carillon.clock()) * 1000)::float8 + ${afterLeaseMs} as "waitMs"
    from carillon.parcels
    where offer_at > (select carillon.clock()) and offer_at <= (select carillon.clock()) + ${watchedMs} * interval '1 millisecond'
      and lane is null and lease_until is not null
    order by offer_at limit ${sweepMax}`;
}

function sweepTravelling(sql: Sql): Promise<Swept & { ended: string[] }> {
  return sql.begin(async (tx) => {
    // The clock is asked in a query of its own: compared with directly it would be asked again for each parcel there is.
    const due = await tx<DueParcel[]>`
      select id, case when lease_until is null then 'none' when lease_until < carillon.clock() then 'ended' else 'live' end as lease
      from carillon.parcels where offer_at <= (select carillon.clock()) and lane is null
      order by offer_at limit ${sweepMax} for update skip locked`;
    const ids = (wanted: DueParcel["lease"]) =>
      due.filter(({ lease }) => lease === wanted).map(({ id }) => id);
    await keepUntilLeaseEnds(tx, ids("live"));
    return { looked: due.length, ended: ids("ended"), outgoing: await offerAgain(tx, ids("none")) };
  });
}

/** Each in a transaction of its own: what ends one worker's lease keeps no other's. */
async function endLeases(
  sql: Sql,
  log: Log,
  ids: readonly string[],
  notify: Notify,
): Promise<OutgoingParcel[]> {
  const outgoing: OutgoingParcel[] = [];
  for (const id of ids) {
    const ended = await endLease(sql, id, notify);
    outgoing.push(...ended.outgoing);
    if (ended.held) log.warn("parcel.lease-ended", { parcel: id });
  }
  return outgoing;
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

/** One target after the other: nobody has several of them locked. */
async function sweepTurns(sql: Sql): Promise<OutgoingParcel[]> {
  const targets = await sql<{ target: number }[]>`select target from carillon.waiting_targets() target`;
  const outgoing: OutgoingParcel[] = [];
  for (const { target } of targets) {
    outgoing.push(
      ...(await sql<OutgoingParcel[]>`
        select id, queue, greatest(0, extract(epoch from ready_at - carillon.clock()) * 1000)::float8 as "waitMs"
        from carillon.next_turns(${target}) order by ready_at, id`),
    );
  }
  return outgoing;
}

async function keepUntilLeaseEnds(tx: Tx, ids: string[]): Promise<void> {
  if (ids.length === 0) return;
  await tx`update carillon.parcels set offer_at = lease_until where id = any(${ids}::bigint[])`;
}

async function offerAgain(tx: Tx, ids: string[]): Promise<OutgoingParcel[]> {
  if (ids.length === 0) return [];
  return tx<OutgoingParcel[]>`
    with offered as (
      update carillon.parcels set offers = least(offers + 1, 100),
        offer_at = greatest(ready_at, carillon.clock()) + interval '1 minute' * power(2, least(offers, 5))
      where id = any(${ids}::bigint[])
      returning id, queue, ready_at, priority
    )
    select id, queue, greatest(0, extract(epoch from ready_at - carillon.clock()) * 1000)::float8 as "waitMs"
    from offered order by coalesce(priority, 0), ready_at, id`;
}
