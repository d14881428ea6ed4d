import { leavesOut, unreadableReason } from "../cadence/cadence.ts";
import { firstAfterEdit } from "../edit/apply-edit.ts";
import { plannedUpTo } from "../plan/shard.ts";
import { payloadBytesOf } from "../quota/usage.ts";
import { isPulse } from "../schedule/shape/pulse-shape.ts";
import type { ScheduleBody } from "../schedule/shape/schedule-body.ts";
import { asStored } from "../schedule/stored/cadence-columns.ts";
import { readBody, sparseBody } from "../schedule/stored/stored-body.ts";
import type { StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import { longestLag, timetableOf } from "../schedule/stored/timetable.ts";
import type { DecidedEdit } from "./divide-edits.ts";
import type { Operation } from "./operation.ts";

/**
 * Whether an edit can be written together with the next edit of the same schedule in a batch. Both
 * have the same cut, and the second would withdraw everything that the first plans. So of the first
 * only its version row and its audit entry remain, and the last edit that is folded writes these
 * for all. The schedule must have no lane, hold, limit or calendar, its ticks must not be late, and
 * the version of the first edit must have no occurrence due by the cut.
 */
export function isFoldable({ current, state, edit, holdsAfter, freed = [] }: DecidedEdit): boolean {
  const { spec, change } = edit;
  if (spec === undefined || (change !== "replaced" && change !== "patched")) return false;
  const isPlain = edit.holds === undefined && edit.from === undefined && edit.detail === undefined;
  return (
    isPlain &&
    holdsAfter.length === 0 &&
    freed.length === 0 &&
    isFree(current) &&
    plannedUpTo(state, current.id) >= state.now &&
    isPlainBody(spec.body) &&
    spec.calendar === null &&
    !leavesOut(spec.cadence) &&
    isDueAfterCut({ current, state, edit })
  );
}

/**
 * Whether deciding the operation writes nothing and reads only the schedule: it may be decided
 * before the previous edit is written.
 */
export function mayFollow(operation: Operation | undefined): boolean {
  if (operation === undefined) return false;
  return operation.kind === "patch" || (operation.kind === "put" && operation.ifExists === undefined);
}

function isFree(current: StoredSchedule): boolean {
  const { heldSince, aside, unread, lane, cadence, calendar, body } = current;
  return (
    heldSince === null &&
    aside === null &&
    unread === null &&
    lane === null &&
    calendar === null &&
    unreadableReason(cadence) === null &&
    !isPulse(current) &&
    isPlainBody(body)
  );
}

function isPlainBody(body: ScheduleBody): boolean {
  return (
    body.delivery !== "pulse" &&
    body.group === null &&
    body.overlap === "allow" &&
    body.maxFires === null &&
    longestLag(body) === 0
  );
}

function isDueAfterCut({ current, state, edit }: Pick<DecidedEdit, "current" | "state" | "edit">): boolean {
  const { spec } = edit;
  if (spec === undefined) return false;
  const after = timetableOf({ ...current, cadence: spec.cadence, body: spec.body });
  const first = firstAfterEdit(timetableOf(current), after, edit.kept ?? false, state.now);
  return first === null || first > state.now.getTime();
}

/** The schedule as it would be read after the edit is written. */
export function afterFolded({ current, edit: { spec }, state, caller }: DecidedEdit): StoredSchedule {
  if (spec === undefined) return current;
  const { payload, target } = spec.body;
  const sparse: unknown = JSON.parse(JSON.stringify(sparseBody(spec.body)));
  const version = current.lastVersion + 1;
  return {
    ...current,
    body: readBody({ sparse, target, payload }).body,
    cadence: asStored(spec.cadence),
    payloadBytes: payloadBytesOf(payload),
    version,
    lastVersion: version,
    specVersion: version,
    updatedAt: state.now,
    updatedBy: caller.name,
  };
}
