import { isDeepStrictEqual } from "node:util";
import { leavesOut, unreadableReason } from "../cadence/cadence.ts";
import type { Tx } from "../db/connect.ts";
import type { Edit } from "../edit/apply-edit.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import { isSetAside } from "../plan/aside.ts";
import { withPendingRows } from "../plan/plan-schedule.ts";
import { plannedUpTo, type ShardState } from "../plan/shard.ts";
import type { Hold } from "../schedule/holds.ts";
import type { Caller } from "../schedule/shape/caller.ts";
import type { ScheduleBody } from "../schedule/shape/schedule-body.ts";
import { targetName } from "../schedule/shape/target-name.ts";
import type { StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import { longestLag } from "../schedule/stored/timetable.ts";

/** Facts about the schedules of a wave that only the database has. */
interface Circumstances {
  /** Names of handlers that take all jobs of a group together. */
  grouped: ReadonlySet<string>;
  /** Schedules with due occurrences that the lagging ticks have not made. */
  pending: ReadonlySet<string>;
}

/** Divides edits into plain ones, which `applyPlainEdits` can do, and the others. */
export async function divideEdits(
  tx: Tx,
  edits: readonly DecidedEdit[],
): Promise<{ plain: DecidedEdit[]; others: DecidedEdit[] }> {
  const circumstances = { grouped: await groupedTargets(tx, edits), pending: await pendingAmong(tx, edits) };
  const plain = edits.filter((each) => isPlainEdit(each, circumstances));
  const chosen = new Set(plain);
  return { plain, others: edits.filter((each) => !chosen.has(each)) };
}

async function groupedTargets(tx: Tx, edits: readonly DecidedEdit[]): Promise<ReadonlySet<string>> {
  const bodies = edits.flatMap(({ current, edit }) => [
    current.body,
    ...(edit.spec === undefined ? [] : [edit.spec.body]),
  ]);
  const names = bodies.flatMap(({ group, target }) =>
    group !== null && "handler" in target ? [targetName(target)] : [],
  );
  if (names.length === 0) return new Set();
  const rows = await tx<{ name: string }[]>`
    select name from carillon.targets where name = any(${[...new Set(names)]}::text[]) and grouped`;
  return new Set(rows.map(({ name }) => name));
}

async function pendingAmong(tx: Tx, edits: readonly DecidedEdit[]): Promise<ReadonlySet<string>> {
  const pending = new Set<string>();
  const planned = edits.filter(({ current }) => current.body.delivery !== "pulse");
  const lagging = planned.filter(({ current, state }) => plannedUpTo(state, current.id) < state.now);
  for (const ofShard of Map.groupBy(lagging, ({ state }) => state.shard).values()) {
    const [first] = ofShard;
    if (first === undefined) continue;
    const schedules = ofShard.map(({ current }) => current);
    for (const id of await withPendingRows(tx, first.state, schedules)) pending.add(id);
  }
  return pending;
}

/**
 * True for an edit that only withdraws jobs that are not due yet, raises the version and plans it.
 * False if `applyEdit` has more to do: a hold, a change of lanes, another cadence while an
 * occurrence waits to become due, a cadence that cannot be read, or occurrences that late ticks have
 * not made.
 */
function isPlainEdit(
  { current, edit, holdsAfter }: DecidedEdit,
  { grouped, pending }: Circumstances,
): boolean {
  const { id, body, heldSince, cadence } = current;
  const after = edit.spec?.body ?? body;
  const held = edit.holds !== undefined || holdsAfter.length > 0 || heldSince !== null;
  const keepsDue =
    longestLag(body) === 0 || body.delivery === "pulse" || edit.delete === true || isKept(current, edit);
  return (
    !held &&
    edit.from === undefined &&
    keepsLanes(current, after, grouped) &&
    keepsDue &&
    !(leavesOut(cadence) && unreadableReason(cadence) !== null) &&
    !isSetAside(current) &&
    current.versionsFault === null &&
    !pending.has(id)
  );
}

export function isKept({ cadence }: StoredSchedule, edit: Edit): boolean {
  return edit.kept ?? isDeepStrictEqual(edit.spec?.cadence ?? cadence, cadence);
}

function keepsLanes(
  { body, lane }: StoredSchedule,
  after: ScheduleBody,
  grouped: ReadonlySet<string>,
): boolean {
  if (body.overlap !== after.overlap) return false;
  const passes = ({ group, serial, target }: ScheduleBody) =>
    group !== null && (serial || grouped.has(targetName(target)));
  if (!passes(body) && !passes(after)) return lane === null;
  return (
    body.group === after.group &&
    body.serial === after.serial &&
    targetName(body.target) === targetName(after.target)
  );
}

/** A decided edit of one schedule among many. */
export interface DecidedEdit {
  /** Parcels that the decision freed. */
  freed?: readonly OutgoingParcel[];
  current: StoredSchedule;
  state: ShardState;
  edit: Edit;
  holdsAfter: readonly Hold[];
  caller: Caller;
  /** Earlier edits of the schedule that are written with this one, in their order. */
  folded?: readonly DecidedEdit[];
}
