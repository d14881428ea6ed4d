import { boundStatements } from "../db/bounded.ts";
import type { Sql } from "../db/connect.ts";
import { waitBriefly } from "../db/locks.ts";
import { errorText } from "../log/error-text.ts";
import type { Log } from "../log/log.ts";
import { inHalves } from "../quarantine/in-halves.ts";
import type { OutgoingParcel } from "./parcel-queue.ts";

interface Deps {
  sql: Sql;
  log: Log;
}

interface Left {
  leftTarget: number | null;
  leftLanes: boolean;
}

/**
 * Ends the work on a parcel that was settled, or taken from its worker, in parts. Its place at the
 * target and its lanes go to the parcels behind it, by statements of their own: if one of those
 * parcels cannot be written, the settled jobs stay settled, and the sweep gives the turns.
 */
export async function leaveParcel(
  deps: Deps,
  id: string,
  /** Null for a parcel whose lease has ended. */
  fence: number | null,
  timeIsUp: () => boolean,
): Promise<OutgoingParcel[]> {
  const { sql } = deps;
  const lists = await sql<Lists[]>`
    select occurrences, schedule_ids as "scheduleIds", kinds, ns from carillon.parcels where id = ${id}`;
  const [left] = await sql<Left[]>`
    select left_target as "leftTarget", left_lanes as "leftLanes" from carillon.leave_parcel(${id}, ${fence})`;
  if (left === undefined) return [];
  const [own] = lists;
  return [
    ...(left.leftTarget === null ? [] : await leavePlaces(deps, left.leftTarget)),
    ...(left.leftLanes && own !== undefined ? await leaveLanes(deps, own, timeIsUp) : []),
  ];
}

/**
 * Gives the free places of a target to waiting parcels. If this fails, the next tick gives them.
 */
export async function leavePlaces({ sql, log }: Deps, target: number): Promise<OutgoingParcel[]> {
  try {
    return await sql<OutgoingParcel[]>`
      select id, queue, greatest(0, extract(epoch from ready_at - carillon.clock()) * 1000)::float8 as "waitMs" from carillon.leave_places(${target})`;
  } catch (error) {
    log.warn("worker.turns-left", { target, error: errorText(error) });
    return [];
  }
}

interface Lists {
  occurrences: Date[];
  scheduleIds: string[];
  kinds: string[] | null;
  ns: number[] | null;
}

/**
 * Leaves the lanes in halves: the row of one place or of the next parcel may be unwritable, and the
 * other lanes go on. The sweep gives the turns that fail here, and the claim of such a parcel
 * reports the unwritable row.
 */
async function leaveLanes(
  { sql, log }: Deps,
  own: Lists,
  timeIsUp: () => boolean,
): Promise<OutgoingParcel[]> {
  const outgoing: OutgoingParcel[] = [];
  const places = own.scheduleIds.map((_, place) => place);
  const { failed } = await inHalves(
    places,
    async (part) => {
      outgoing.push(...(await leaveSome(sql, own, part)));
    },
    timeIsUp,
  );
  for (const { item, error } of failed)
    log.warn("worker.lanes-left", { schedule: own.scheduleIds[item], error: errorText(error) });
  return outgoing;
}

/** The positions must be adjacent. */
function leaveSome(sql: Sql, own: Lists, part: readonly number[]): Promise<OutgoingParcel[]> {
  const [from = 0, to = 0] = [part[0], (part.at(-1) ?? 0) + 1];
  const some = <Value>(list: readonly Value[] | null) => list?.slice(from, to) ?? null;
  return sql.begin(async (tx) => {
    await waitBriefly(tx);
    await boundStatements(tx);
    return tx<OutgoingParcel[]>`
      select id, queue, 0::float8 as "waitMs"
      from carillon.leave_lanes(${tx.array(own.occurrences.slice(from, to))}::timestamptz[], ${some(own.scheduleIds)}::bigint[],
        ${some(own.kinds)}::text[]::carillon.job_kind[], ${some(own.ns)}::int[], carillon.clock())`;
  });
}
