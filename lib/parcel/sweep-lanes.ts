import type { Sql, Tx } from "../db/connect.ts";
import { waitForRows } from "../db/locks.ts";
import type { Log } from "../log/log.ts";
import { mayBeOfARow } from "../quarantine/in-halves.ts";
import { dropEntries, isAside, waitsAside } from "../quarantine/quarantine.ts";
import { allListedAgain, type Tried, tryInHalves } from "../quarantine/try-rows.ts";
import type { OutgoingParcel } from "./parcel-queue.ts";

interface Deps {
  sql: Sql;
  log: Log;
}

/**
 * Gives turns in lanes that no worker has given: for all lanes by one statement and, if that fails,
 * for each half of them, until the lane at fault is alone.
 */
export async function sweepLanes(deps: Deps, most: number, timeIsUp: () => boolean): Promise<Swept> {
  let swept: Swept;
  try {
    swept = await sweepTogether(deps.sql, most);
  } catch (error) {
    if (!mayBeOfARow(error)) throw error;
    return sweepApart(deps, most, timeIsUp);
  }
  if (swept.looked > 0) await letSweptGo(deps.sql);
  return swept;
}

/** Deletes the due entries of lanes from the quarantine, since no due lane has failed. */
async function letSweptGo(sql: Sql): Promise<void> {
  await dropEntries(sql, sql`q.consumer = 'lane' and q.next_at <= (select carillon.clock())`);
}

async function sweepTogether(sql: Sql, most: number): Promise<Swept> {
  const rows = await sql.begin(async (tx) => {
    await waitForRows(tx, most);
    return tx<({ looked: number } & (OutgoingParcel | { id: null; queue: null }))[]>`
      select looked, id, queue, 0::float8 as "waitMs" from carillon.sweep_lanes(${most})`;
  });
  return {
    looked: rows[0]?.looked ?? 0,
    outgoing: rows.flatMap(({ looked: _looked, ...parcel }) => (parcel.id === null ? [] : [parcel])),
  };
}

interface DueLane extends Tried {
  parcels: string[];
  /** The schedule of the lane, if it is a schedule's own lane. */
  schedules: string[];
}

/**
 * Tries all due lanes, not `most` of them: those left over would be swept by one statement again,
 * and fail again.
 */
async function sweepApart({ sql, log }: Deps, most: number, timeIsUp: () => boolean): Promise<Swept> {
  const outgoing: OutgoingParcel[] = [];
  for (let tried: Pick<Tried, "item">[] = []; !timeIsUp(); ) {
    const lanes = await dueLanes(sql, most);
    const parcels = lanes.flatMap((lane) => lane.parcels.map((item) => ({ item })));
    if (lanes.length === 0 || allListedAgain(tried, parcels)) break;
    tried = parcels;
    await tryInHalves(
      { sql, log, consumer: "lane" },
      lanes,
      async (part) => {
        outgoing.push(...(await sql.begin((tx) => sweepSome(tx, part))));
      },
      timeIsUp,
    );
  }
  return { looked: 0, outgoing };
}

function dueLanes(sql: Sql, most: number): PromiseLike<DueLane[]> {
  const lane = sql`p.lane`;
  return sql<DueLane[]>`
    select due.lane as item, bool_or(due.aside) as aside, array_agg(due.id) as parcels,
      coalesce(array_agg(distinct due.schedule_id) filter (where due.lane like 'schedule/%'), '{}') as schedules
    from (
      select p.id, p.lane, p.schedule_ids[1] as schedule_id, ${isAside(sql, "lane", lane)} as aside
      from carillon.parcels p
      where p.lane is not null and p.offer_at <= (select carillon.clock()) and not ${waitsAside(sql, "lane", lane)}
      order by p.offer_at limit ${most}) due
    group by due.lane`;
}

/** The same as carillon.sweep_lanes, for these lanes. */
async function sweepSome(tx: Tx, lanes: readonly DueLane[]): Promise<OutgoingParcel[]> {
  const names = lanes.map(({ item }) => item);
  const ofGroups = lanes.filter(({ schedules }) => schedules.length === 0).map(({ item }) => item);
  await waitForRows(tx, lanes.length);
  await tx`
    select carillon.lock_lanes(${lanes.flatMap(({ schedules }) => schedules)}::bigint[], ${ofGroups}::text[])`;
  const free = await tx<OutgoingParcel[]>`
    select id, queue, 0::float8 as "waitMs" from carillon.hand_over_lanes(${names}::text[])`;
  await tx`
    update carillon.parcels set offers = least(offers + 1, 100), offer_at = carillon.clock() + interval '1 minute' * power(2, least(offers, 5))
    where id = any(${lanes.flatMap(({ parcels }) => parcels)}::bigint[]) and lane is not null`;
  return free;
}

export interface Swept {
  /** The number of parcels that were looked at; `sweepMax` if there may be more. */
  looked: number;
  outgoing: OutgoingParcel[];
}
