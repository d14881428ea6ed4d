import type { Sql } from "../db/connect.ts";
import { errorText } from "../log/error-text.ts";
import type { Log } from "../log/log.ts";
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
 * Ends the work on a parcel that was settled, or taken from its worker, in parts. Its place at the target and its lanes go to the parcels behind it,
 * by statements of their own: where one of those parcels cannot be written, what was settled stays settled, and the sweep gives the turns.
 */
export async function leaveParcel(
  deps: Deps,
  id: string,
  /** Null for a parcel whose lease has ended. */
  fence: number | null,
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
    ...(left.leftLanes && own !== undefined ? await leaveLanes(deps, own) : []),
  ];
}

/** Turns that are not given here the next tick gives. */
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

async function leaveLanes({ sql, log }: Deps, own: Lists): Promise<OutgoingParcel[]> {
  const { occurrences, scheduleIds, kinds, ns } = own;
  try {
    return await sql<OutgoingParcel[]>`
      select id, queue, 0::float8 as "waitMs"
      from carillon.leave_lanes(${sql.array(occurrences)}::timestamptz[], ${scheduleIds}::bigint[], ${kinds}::text[]::carillon.job_kind[], ${ns}::int[],
        carillon.clock())`;
  } catch (error) {
    log.warn("worker.lanes-left", { schedules: scheduleIds.join(", "), error: errorText(error) });
    return [];
  }
}
