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

/** Another transaction was in the way: the message comes again soon, and the next claim is likely to succeed. */
const inTheWay: ReadonlySet<string | undefined> = new Set([
  "deadlock",
  "lock_timeout",
  "serialization_failure",
]);

/** A claim that takes too long sets its parcel aside once the tick has sent so many more messages for it, which takes it about four minutes. */
const offersMin = 3;

/**
 * Sets a parcel aside that cannot be claimed and has no two parts. A claim may take too long because the database has too much to do, which is not the
 * parcel's fault: it is tried again by the messages that the tick sends for what no worker has claimed, and is set aside where each of them fails. False where its message is to come again: the failure may pass, or the parcel
 * is not to be claimed any more.
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

/** The most entries that one sweep looks at. */
const lookedMax = 1_000;
/** The next message goes so much later, should this one be lost. */
const nextOffer = "1 minute";

/**
 * Lets go of parcels that were claimed since they were set aside, or are not to be claimed any more, and sends the others when their next try has
 * come: the worker claims them, or sets them aside again. A parcel whose own row cannot be written yet is not sent.
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

/** An entry may have been written by hand. */
const idOf = (sql: Sql) => sql`case when q.item ~ '^[0-9]{1,18}$' then q.item::bigint end`;
