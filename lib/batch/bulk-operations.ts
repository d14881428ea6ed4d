import type { Tx } from "../db/connect.ts";
import { databaseClock } from "../db/database-clock.ts";
import type { PatchAcceptance } from "../edit/schedule-edits.ts";
import type { Matching } from "../history/search-page.ts";
import type { ScheduleFilter } from "../history/search-schedules.ts";
import { Refusal, type Refused } from "../refusal.ts";
import { isHeldAt } from "../schedule/held.ts";
import type { Caller } from "../schedule/shape/caller.ts";
import { targetName } from "../schedule/shape/target-name.ts";
import type { StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import type { Operation } from "./operation.ts";

/** The change of each schedule. */
export type BulkChange =
  | { verb: "pause"; until?: Date | undefined; owner?: string | undefined }
  | { verb: "resume"; owner?: string | undefined }
  | { verb: "delete" }
  | { verb: "patch"; patch: object; accept?: PatchAcceptance | undefined };

/** A schedule that the filter has found. */
export interface FoundSchedule extends Matching {
  key: string;
  shard: number;
}

export async function foundSchedules(tx: Tx, matching: readonly Matching[]): Promise<FoundSchedule[]> {
  if (matching.length === 0) return [];
  const byId = new Map(matching.map((each) => [each.id, each]));
  const rows = await tx<{ id: string; key: string; shard: number }[]>`
    select id, key, shard from carillon.schedules where id = any(${[...byId.keys()]}::bigint[]) and deleted_at is null order by shard, id`;
  return rows.map((row) => ({ ...byId.get(row.id), ...row }));
}

export interface BulkAction {
  filter: ScheduleFilter;
  change: BulkChange;
  reason?: string | undefined;
  caller: Caller;
}

/** Refuses a pause that no schedule can have. */
export async function refusePast(tx: Tx, change: BulkChange): Promise<void> {
  if (change.verb !== "pause" || change.until === undefined) return;
  if (change.until > (await databaseClock(tx))) return;
  throw new Refusal("invalid", "The pause ends in the past.", [
    { path: "until", message: "must be in the future" },
  ]);
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
 * Whether the schedule still matches, now that it is locked. Whether it has ended, whether it fails
 * and when it runs next was judged when it was found: with another version since, it may be
 * otherwise.
 */
function isStill(filter: ScheduleFilter, found: FoundSchedule, current: StoredSchedule, now: Date): boolean {
  const { group, tag, target, state } = filter;
  if (current.id !== found.id) return false;
  if (found.version !== undefined && found.version !== current.version) return false;
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
