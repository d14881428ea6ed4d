import type { Sql } from "../db/connect.ts";
import { sqlState } from "../db/sql-state.ts";
import { errorText } from "../log/error-text.ts";
import type { Log } from "../log/log.ts";
import { mayBeOfARow } from "../quarantine/in-halves.ts";
import { dropEntries, logSetAside, type SetAside } from "../quarantine/quarantine.ts";
import { notDone, type Tried, tryEach } from "../quarantine/try-rows.ts";
import type { OutgoingParcel, QueueClass } from "./parcel-queue.ts";
import { writeParcels } from "./sweep-turns.ts";

interface Deps {
  sql: Sql;
  log: Log;
}

/**
 * A conflict with another transaction: the message comes again soon, and the next claim is likely
 * to succeed.
 */
const inTheWay: ReadonlySet<string | undefined> = new Set([
  "deadlock",
  "lock_timeout",
  "serialization_failure",
]);

/**
 * A claim that takes too long sets its parcel aside only after the tick has sent this many more
 * messages for it, which takes about four minutes.
 */
const offersMin = 3;

/**
 * Sets a parcel aside that cannot be claimed and cannot be divided. A claim may take too long
 * because the database is overloaded, which is not the parcel's fault: then the messages that the
 * tick sends for unclaimed parcels are its retries, and it is set aside only if each of them fails.
 * False if the message is to come again: the failure may pass, or the parcel is not to be claimed
 * any more.
 */
export async function setClaimAside({ sql, log }: Deps, id: string, error: unknown): Promise<boolean> {
  if (!mayBeOfARow(error) || inTheWay.has(sqlState(error))) return false;
  if (sqlState(error) === "cancelled" && !(await wasOfferedAgain(sql, id))) return false;
  const rows = await sql<SetAside[]>`
    select item, schedule_id as "scheduleId", reason, tries, next_at as "nextAt" from carillon.set_claim_aside(${id}, ${errorText(error)})`;
  logSetAside(log, "claim", rows);
  return rows.length > 0;
}

async function wasOfferedAgain(sql: Sql, id: string): Promise<boolean> {
  const rows = await sql`select from carillon.parcels where id = ${id} and offers >= ${offersMin}`;
  return rows.length > 0;
}

/** The most entries that one sweep reads. */
const lookedMax = 1_000;
/** If the message is lost, another one is sent after this time. */
const nextOffer = "1 minute";

/**
 * Drops entries of parcels that were claimed since they were set aside, or are not to be claimed
 * any more. Sends the other parcels when their next attempt is due: the worker claims them, or sets
 * them aside again. A parcel whose own row cannot be written yet is not sent.
 */
export async function sweepClaims({ sql, log }: Deps, timeIsUp: () => boolean): Promise<OutgoingParcel[]> {
  await letClaimedGo(sql);
  const due = await sql<(Tried & { queue: QueueClass })[]>`
    select q.item, true as aside, q.schedule_id as "scheduleId", p.queue
    from carillon.quarantine q join carillon.parcels p on p.id = ${idOf(sql)}
    where q.consumer = 'claim' and q.next_at <= (select carillon.clock()) order by q.next_at limit ${lookedMax}`;
  const outgoing: OutgoingParcel[] = [];
  await tryEach(
    { sql, log, consumer: "claim" },
    due,
    async ({ item, queue }) => {
      await writeParcels(sql, [item]);
      await sql`
        update carillon.quarantine set next_at = carillon.clock() + ${nextOffer}::interval where consumer = 'claim' and item = ${item}`;
      outgoing.push({ id: item, queue, waitMs: 0 });
      return notDone;
    },
    timeIsUp,
  );
  return outgoing;
}

async function letClaimedGo(sql: Sql): Promise<void> {
  await dropEntries(
    sql,
    sql`q.consumer = 'claim' and not exists (
        select from carillon.parcels p
        where p.id = ${idOf(sql)} and p.lease_until is null and p.lane is null and p.ready_at <= (select carillon.clock()))
      order by q.next_at limit ${lookedMax}`,
  );
}

/** The parcel of an entry; null if the entry was written by hand and names none. */
const idOf = (sql: Sql) => sql`case when q.item ~ '^[0-9]{1,18}$' then q.item::bigint end`;
