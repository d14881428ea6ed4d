import type { Tx } from "../db/connect.ts";
import type { Hold } from "../schedule/holds.ts";
import type { StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import { holdOwner } from "./freeze.ts";
import type { MovedSchedule, MovedVersion } from "./moved-doc.ts";
import type { Move } from "./moves.ts";

/** Whether the move itself has set this hold. */
export const isOf = (move: Move) => (hold: Hold) =>
  hold.scope === "schedule" && hold.owner === holdOwner(move);

export interface HeldFacts {
  move: Move;
  /** All holds of the schedule, with that of the move. */
  holds: readonly Hold[];
  versions: readonly MovedVersion[];
  /** When the last hold that has ended by itself since the freeze did so. */
  ended: Date | undefined;
}

/**
 * The span without jobs: where it begins, and up to where others than the move held the schedule.
 * The holds of others may have been released, or have ended, after the move set its own.
 */
export function heldSpan(
  { heldSince }: StoredSchedule,
  { move, holds, versions, ended }: HeldFacts,
): Pick<MovedSchedule, "heldSince" | "heldTo"> {
  const own = holds.find(isOf(move));
  if (own === undefined || heldSince === null)
    throw new Error("The move takes a schedule that it does not hold.");
  if (heldSince >= own.since) return { heldSince: heldSince.toISOString(), heldTo: null };
  const released = versions.findLast(({ change }) => change === "resumed");
  const ends = [own.since, ended ?? own.since, new Date(released?.changedAt ?? own.since)];
  const to = ends.reduce((one, other) => (other > one ? other : one));
  return { heldSince: heldSince.toISOString(), heldTo: to.toISOString() };
}

/**
 * The last end of a hold of each schedule that a tick has removed since the move froze it. Such an
 * end makes no version.
 */
export async function endsSinceFreeze(
  tx: Tx,
  move: Move,
  schedules: readonly Pick<StoredSchedule, "id">[],
): Promise<Map<string, Date>> {
  const rows = await tx<{ id: string; at: Date }[]>`
    select h.schedule_id as id, max(a.at) as at
    from carillon.holds h
    cross join lateral (
      select min(version) as version from carillon.schedule_versions v
      where v.schedule_id = h.schedule_id and v.changed_at >= h.since) frozen
    join carillon.audit a on a.schedule_id = h.schedule_id and a.version >= frozen.version and a.action = 'schedule.resumed'
      and a.detail->'ended' is not null
    where h.schedule_id = any(${schedules.map(({ id }) => id)}::bigint[]) and h.scope = 'schedule' and h.name = '' and h.owner = ${holdOwner(move)}
    group by h.schedule_id`;
  return new Map(rows.map(({ id, at }) => [id, at]));
}
