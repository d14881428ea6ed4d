import { boundStatements } from "../db/bounded.ts";
import type { Sql } from "../db/connect.ts";
import { lockTarget, waitForRows } from "../db/locks.ts";
import type { Log } from "../log/log.ts";
import { inHalves, mayBeOfARow } from "../quarantine/in-halves.ts";
import { isAside, waitsAside } from "../quarantine/quarantine.ts";
import { putAside, type Tried, tryEach } from "../quarantine/try-rows.ts";
import type { OutgoingParcel } from "./parcel-queue.ts";

interface Deps {
  sql: Sql;
  log: Log;
}

/**
 * The most waiting parcels of a target that are tried when its turns cannot be given: a target
 * gives at most this many turns at a time.
 */
const triedMax = 200;
/** The most parcels in quarantine that one sweep tries again. */
const retriedMax = 1_000;

/**
 * Gives the turns at targets that no worker has given, target by target, so that no transaction
 * locks several of them. A waiting parcel that cannot be written, or has a job that cannot, is set
 * aside, and the parcels behind it get their turns.
 */
export async function sweepTurns(deps: Deps, timeIsUp: () => boolean): Promise<OutgoingParcel[]> {
  const { sql, log } = deps;
  await retryParcels(deps, timeIsUp);
  const target = sql`target`;
  const targets = await sql<Tried[]>`
    select target::text as item, ${isAside(sql, "turn", target)} as aside
    from carillon.waiting_targets() target where not ${waitsAside(sql, "turn", target)}`;
  const outgoing: OutgoingParcel[] = [];
  await tryEach(
    { sql, log, consumer: "turn" },
    targets,
    async ({ item }) => {
      outgoing.push(...(await turnsAt(deps, item, timeIsUp)));
    },
    timeIsUp,
  );
  return outgoing;
}

async function turnsAt(deps: Deps, target: string, timeIsUp: () => boolean): Promise<OutgoingParcel[]> {
  try {
    return await nextTurns(deps.sql, target);
  } catch (error) {
    if (!mayBeOfARow(error) || (await setParcelsAside(deps, target, timeIsUp)) === 0) throw error;
    return nextTurns(deps.sql, target);
  }
}

/**
 * The lock of the target comes before the short lock timeout, which is for rows: all parcels of the
 * target need that lock, so it is waited for as long as in other transactions.
 */
function nextTurns(sql: Sql, target: string): Promise<OutgoingParcel[]> {
  return sql.begin(async (tx) => {
    await Promise.all([lockTarget(tx, Number(target)), waitForRows(tx, triedMax)]);
    return tx<OutgoingParcel[]>`
      select id, queue, greatest(0, extract(epoch from ready_at - carillon.clock()) * 1000)::float8 as "waitMs"
      from carillon.next_turns(${target}) order by ready_at, id`;
  });
}

interface WaitingParcel {
  id: string;
  scheduleId: string | null;
}

/**
 * Sets unwritable parcels aside, so that `carillon.due_turns` leaves them out. Returns their
 * number.
 */
async function setParcelsAside({ sql, log }: Deps, target: string, timeIsUp: () => boolean): Promise<number> {
  const item = sql`'parcel ' || p.id`;
  const waiting = await sql<WaitingParcel[]>`
    select p.id, case cardinality(p.schedule_ids) when 1 then p.schedule_ids[1] end as "scheduleId"
    from carillon.parcels p where p.target_id = ${target} and p.turn = 'waits' and not ${isAside(sql, "turn", item)}
    order by p.turn_at, p.id limit ${triedMax}`;
  const { failed } = await inHalves(
    waiting,
    (some) =>
      writeParcels(
        sql,
        some.map(({ id }) => id),
      ),
    timeIsUp,
  );
  await putAside(
    { sql, log, consumer: "turn" },
    failed.map(({ item: { id, scheduleId }, error }) => ({ item: `parcel ${id}`, scheduleId, error })),
  );
  return failed.length;
}

/**
 * Changes nothing, but fails if a parcel or one of its jobs cannot be written. A locked parcel is
 * skipped, as it is by the turns.
 */
export async function writeParcels(sql: Sql, ids: readonly string[]): Promise<void> {
  await sql.begin(async (tx) => {
    await waitForRows(tx, ids.length);
    await boundStatements(tx);
    await tx`select carillon.write_parcels(${[...ids]}::bigint[])`;
  });
}

/**
 * Tries the parcels in quarantine whose next attempt is due. A parcel that can be written again, or
 * is gone, leaves the quarantine, and gets its turn when its target is swept.
 */
async function retryParcels({ sql, log }: Deps, timeIsUp: () => boolean): Promise<void> {
  const due = await sql<Tried[]>`
    select item, true as aside, schedule_id as "scheduleId" from carillon.quarantine
    where consumer = 'turn' and next_at <= (select carillon.clock()) and item ~ '^parcel [0-9]+$' order by next_at limit ${retriedMax}`;
  await tryEach(
    { sql, log, consumer: "turn" },
    due,
    ({ item }) => writeParcels(sql, [item.slice("parcel ".length)]),
    timeIsUp,
  );
}
