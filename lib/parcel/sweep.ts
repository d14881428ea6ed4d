import type { Sql, Tx } from "../db/connect.ts";
import type { Log } from "../log/log.ts";
import { isAside, waitsAside } from "../quarantine/quarantine.ts";
import { type Tried, tryEach, tryInHalves } from "../quarantine/try-rows.ts";
import { sweepClaims } from "./claims-aside.ts";
import { endLease } from "./end-lease.ts";
import type { OutgoingParcel } from "./parcel-queue.ts";
import { type Notify, notifyByDefault } from "./settle.ts";
import { type Swept, sweepLanes } from "./sweep-lanes.ts";
import { sweepTurns } from "./sweep-turns.ts";

interface DueParcel extends Tried {
  lease: "none" | "ended" | "live";
}

/** The most parcels of one sweep; the tick repeats it while there is more. */
export const sweepMax = 1_000;

/**
 * Finds the parcels that are to be offered by now: never sent, sent but not claimed, or with a
 * lease that has ended.
 * - Unclaimed parcels are offered again, each later than the time before (1, 2, 4 … 32 minutes), so
 *   that a backlog is not multiplied.
 * - A parcel that could not be claimed is sent again when its next attempt is due (`sweepClaims`).
 * - A parcel whose lease ended is taken from its worker (`end_lease`).
 * - A parcel that waits in a lane or at a target is offered when its turn has come, in case the
 *   worker that gave the turn died before it sent the message.
 *
 * A parcel, lane or target that fails is set aside, and does not hold up others.
 */
export async function sweep(
  sql: Sql,
  log: Log,
  notify: Notify = notifyByDefault,
  timeIsUp: () => boolean = () => false,
): Promise<Swept> {
  const unclaimed = await sweepClaims({ sql, log }, timeIsUp);
  const due = await dueParcels(sql);
  const offered = await offerTravelling({ sql, log }, due, timeIsUp);
  const ended = await endLeases({ sql, log }, due, notify, timeIsUp);
  const lanes = await sweepLanes({ sql, log }, sweepMax, timeIsUp);
  return {
    looked: Math.max(due.length, lanes.looked),
    outgoing: [
      ...unclaimed,
      ...offered,
      ...ended,
      ...lanes.outgoing,
      ...(await sweepTurns({ sql, log }, timeIsUp)),
    ],
  };
}

/** A lease that may end before the next tick is watched by a message that arrives at its end. */
export const watchedMs = 75_000;
/**
 * How long after the lease a watching message arrives. A message may come a second early, and must
 * find the lease ended.
 */
const afterLeaseMs = 2_000;

/**
 * Parcels under a lease that may end before the next tick, to be sent so that they arrive then. The
 * worker that receives such a message finds the parcel settled, its lease renewed, or its worker
 * dead. In the last case the jobs go on within seconds, without waiting for the next tick.
 */
export async function watchedLeases(sql: Sql): Promise<OutgoingParcel[]> {
  return sql<OutgoingParcel[]>`
    select id, queue, greatest(0, extract(epoch from lease_until - carillon.clock()) * 1000)::float8 + ${afterLeaseMs} as "waitMs"
    from carillon.parcels
    where offer_at > (select carillon.clock()) and offer_at <= (select carillon.clock()) + ${watchedMs} * interval '1 millisecond'
      and lane is null and lease_until is not null
    order by offer_at limit ${sweepMax}`;
}

interface Deps {
  sql: Sql;
  log: Log;
}

/**
 * Parcels that are to be offered by now, or whose lease has ended, except those that a transaction
 * has locked. The clock is read in a subquery: without it the clock would be read again for each
 * parcel.
 */
function dueParcels(sql: Sql): PromiseLike<DueParcel[]> {
  const id = sql`p.id`;
  return sql<DueParcel[]>`
    select p.id as item, case cardinality(p.schedule_ids) when 1 then p.schedule_ids[1] end as "scheduleId", ${leaseOf(sql)} as lease, ${isAside(sql, "offer", id)} or ${isAside(sql, "lease", id)} as aside
    from carillon.parcels p
    where p.offer_at <= (select carillon.clock()) and p.lane is null
      and not ${waitsAside(sql, "offer", id)} and not ${waitsAside(sql, "lease", id)} and not ${isAside(sql, "claim", id)}
    order by p.offer_at limit ${sweepMax} for update of p skip locked`;
}

const leaseOf = (tx: Tx) => tx`
  case when p.lease_until is null then 'none' when p.lease_until < carillon.clock() then 'ended' else 'live' end`;

async function offerTravelling(
  { sql, log }: Deps,
  due: readonly DueParcel[],
  timeIsUp: () => boolean,
): Promise<OutgoingParcel[]> {
  const outgoing: OutgoingParcel[] = [];
  await tryInHalves(
    { sql, log, consumer: "offer" },
    due.filter(({ lease }) => lease !== "ended"),
    async (part) => {
      outgoing.push(...(await sql.begin((tx) => offerSome(tx, part))));
    },
    timeIsUp,
  );
  return outgoing;
}

/** Checks the parcels again, since they may have been offered or claimed after they were listed. */
async function offerSome(tx: Tx, part: readonly DueParcel[]): Promise<OutgoingParcel[]> {
  const still = await tx<{ id: string; lease: DueParcel["lease"] }[]>`
    select p.id, ${leaseOf(tx)} as lease from carillon.parcels p
    where p.id = any(${part.map(({ item }) => item)}::bigint[]) and p.offer_at <= (select carillon.clock()) and p.lane is null
    order by p.offer_at for update skip locked`;
  const ids = (wanted: DueParcel["lease"]) =>
    still.filter(({ lease }) => lease === wanted).map(({ id }) => id);
  await keepUntilLeaseEnds(tx, ids("live"));
  return offerAgain(tx, ids("none"));
}

/** Each lease has its own transaction, so that a failure affects one worker's parcel only. */
async function endLeases(
  { sql, log }: Deps,
  due: readonly DueParcel[],
  notify: Notify,
  timeIsUp: () => boolean,
): Promise<OutgoingParcel[]> {
  const outgoing: OutgoingParcel[] = [];
  await tryEach(
    { sql, log, consumer: "lease" },
    due.filter(({ lease }) => lease === "ended"),
    async ({ item }) => {
      const ended = await endLease({ sql, log }, item, notify, timeIsUp);
      outgoing.push(...ended.outgoing);
      if (ended.held) log.warn("parcel.lease-ended", { parcel: item });
      if (ended.error !== undefined) throw ended.error;
    },
    timeIsUp,
  );
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

/**
 * Resets offers that were not sent because the time for it was up: they come first in the next
 * sweep, and are not counted. Otherwise each would be delayed by a minute, or up to 32, without a
 * message under way.
 */
export async function offerNext(sql: Sql, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await sql`
    with locked as (
      select id from carillon.parcels
      where id = any(${[...ids]}::bigint[]) and lane is null and lease_until is null and offer_at < 'infinity' order by id for update skip locked
    )
    update carillon.parcels p set offers = greatest(p.offers - 1, 0), offer_at = least(p.offer_at, carillon.clock()) from locked where p.id = locked.id`;
}
