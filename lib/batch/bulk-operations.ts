import type { Tx } from "../db/connect.ts";
import type { PatchAcceptance } from "../edit/schedule-edits.ts";
import type { ScheduleFilter } from "../history/search-schedules.ts";
import { isHeldAt } from "../schedule/held.ts";
import type { Caller } from "../schedule/shape/caller.ts";
import { targetName } from "../schedule/shape/target-name.ts";
import type { StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import type { Operation, Refused } from "./operation.ts";

/** The change of each schedule. */
export type BulkChange =
  | { verb: "pause"; until?: Date | undefined; owner?: string | undefined }
  | { verb: "resume"; owner?: string | undefined }
  | { verb: "delete" }
  | { verb: "patch"; patch: object; accept?: PatchAcceptance | undefined };

/** A schedule that the filter has found. */
export interface FoundSchedule {
  id: string;
  key: string;
  shard: number;
}

export async function foundSchedules(tx: Tx, ids: readonly string[]): Promise<FoundSchedule[]> {
  if (ids.length === 0) return [];
  return tx<FoundSchedule[]>`
    select id, key, shard from carillon.schedules where id = any(${[...ids]}::bigint[]) and deleted_at is null order by shard, id`;
}

export interface BulkAction {
  filter: ScheduleFilter;
  change: BulkChange;
  reason?: string | undefined;
  caller: Caller;
}

/** The same operation as that of a batch, so that a bulk action has the rules of a single edit. */
export function operationOf({ filter, change, reason, caller }: BulkAction, found: FoundSchedule): Operation {
  const { key } = found;
  const base = {
    key,
    caller,
    isMeant: (current: StoredSchedule, now: Date) => isStill(filter, found, current, now),
  };
  switch (change.verb) {
    case "pause":
      return { ...base, kind: "pause", reason, until: change.until, owner: change.owner };
    case "resume":
      return { ...base, kind: "resume", owner: change.owner };
    case "delete":
      return { ...base, kind: "delete" };
    case "patch":
      return { ...base, kind: "patch", patch: change.patch, accept: change.accept };
  }
}

/**
 * Whether the schedule still matches, now that it is locked. Whether it fails, and when it runs
 * next, was judged when it was found.
 */
function isStill(filter: ScheduleFilter, found: FoundSchedule, current: StoredSchedule, now: Date): boolean {
  const { group, tag, target, state } = filter;
  if (current.id !== found.id) return false;
  if (state !== undefined && isHeldAt(current, now.getTime()) !== (state === "paused")) return false;
  // The labels in a body that cannot be read may be the unreadable part.
  if (current.unread !== null) return true;
  const { body } = current;
  const name = targetName(body.target);
  return (
    (group === undefined || body.group === group) &&
    (tag === undefined || body.tags.includes(tag)) &&
    (target === undefined || name === target || name.startsWith(`${target}/`))
  );
}

const faultsShown = 3;

/** A refusal as one text, with its first faults. */
export function refusalText({ message, faults }: Refused): string {
  const first = faults.slice(0, faultsShown).map((fault) => `${fault.path} ${fault.message}`);
  return first.length === 0 ? message : `${message} ${first.join("; ")}`;
}
