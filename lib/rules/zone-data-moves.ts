import type { Tx } from "../db/connect.ts";
import type { Replanned } from "../edit/replan.ts";
import type { ZoneUpdate } from "./zone-data-updates.ts";

/**
 * The number of moves that are kept: the newest ones of all updates together. Each update also
 * counts all moves of its own.
 */
export const zoneMovesKept = 10_000;

/** Updates shown, the newest ones; there are a handful per year. */
const updatesShown = 50;

export async function noteZoneMove(
  tx: Tx,
  { id }: ZoneUpdate,
  { scheduleId, key, timezone, before, after }: Replanned & { scheduleId: string; timezone: string },
): Promise<void> {
  await tx`
    insert into carillon.zone_moves (update_id, schedule_id, key, timezone, before, after)
    values (${id}, ${scheduleId}, ${key}, ${timezone}, ${tx.array(before)}::timestamptz[], ${tx.array(after)}::timestamptz[])`;
  await tx`update carillon.zone_updates set moved = moved + 1 where id = ${id}`;
}

export async function dropOldZoneMoves(tx: Tx, kept: number = zoneMovesKept): Promise<void> {
  await tx`delete from carillon.zone_moves where id <= (select max(id) from carillon.zone_moves) - ${kept}::bigint`;
}

export interface ZoneUpdateRead {
  version: string;
  /** The previous release; null for the first one recorded. */
  from: string | null;
  startedAt: Date;
  /** When all schedules were checked. Null until then, and also if a newer release came first. */
  finishedAt: Date | null;
  zones: string[];
  checked: number;
  moved: number;
}

export interface ZoneDataRead {
  /** The release in force; null before the first tick. */
  version: string | null;
  /** The release of the answering runtime. */
  runtime: string | null;
  /** Newest first. */
  updates: ZoneUpdateRead[];
}

export async function readZoneData(
  tx: Tx,
  runtime: string | null = process.versions["tz"] ?? null,
): Promise<ZoneDataRead> {
  const updates = await tx<ZoneUpdateRead[]>`
    select version, lag(version) over (order by id) as "from", started_at as "startedAt", finished_at as "finishedAt", zones,
      checked::float8 as checked, moved::float8 as moved
    from carillon.zone_updates order by id desc limit ${updatesShown}`;
  return { version: updates[0]?.version ?? null, runtime, updates };
}

export interface ZoneMoveRead {
  id: string;
  key: string;
  timezone: string;
  before: Date[];
  after: Date[];
}

/**
 * A page of the moves of a release, newest first. Null for a release that was never in force.
 * `before` is the move at which the previous page ended.
 */
export async function zoneMovesOf(
  tx: Tx,
  version: string,
  { limit, before }: { limit: number; before?: string | undefined },
): Promise<{ items: ZoneMoveRead[]; next?: string } | null> {
  const [update] = await tx<{ id: number }[]>`
    select id from carillon.zone_updates where version = ${version}`;
  if (update === undefined) return null;
  const rows = await tx<ZoneMoveRead[]>`
    select id, key, timezone, before, after from carillon.zone_moves
    where update_id = ${update.id} ${before === undefined ? tx`` : tx`and id < ${before}::bigint`}
    order by id desc limit ${limit + 1}`;
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return rows.length <= limit || last === undefined ? { items } : { items, next: last.id };
}
