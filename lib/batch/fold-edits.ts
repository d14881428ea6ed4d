import { leavesOut, unreadableReason } from "../cadence/cadence.ts";
import { firstAfterEdit } from "../edit/apply-edit.ts";
import { plannedUpTo } from "../plan/shard.ts";
import { isPulse } from "../schedule/shape/pulse-shape.ts";
import type { ScheduleBody } from "../schedule/shape/schedule-body.ts";
import { asStored } from "../schedule/stored/cadence-columns.ts";
import { readBody, sparseBody } from "../schedule/stored/stored-body.ts";
import type { StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import { longestLag, timetableOf } from "../schedule/stored/timetable.ts";
import type { DecidedEdit } from "./divide-edits.ts";
import type { Operation } from "./operation.ts";

/**
 * Edits of one schedule that follow each other in a batch have one cut. What a version between two of them would plan is withdrawn by the one after it, so
 * that nothing is left of it but its row and its line in the audit: the last edit writes those of all. Only for schedules that need neither lanes,
 * holds, limits nor a calendar, whose ticks are not late, and where the version between has nothing due by the cut.
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

/** Whether to decide it writes nothing and reads nothing but the schedule: it may be decided before the edit ahead of it is written. */
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

/** The schedule as it would be read once the edit was written. */
export function afterFolded({ current, edit: { spec }, state, caller }: DecidedEdit): StoredSchedule {
  if (spec === undefined) return current;
  const { payload, target } = spec.body;
  const sparse: unknown = JSON.parse(JSON.stringify(sparseBody(spec.body)));
  const version = current.lastVersion + 1;
  return {
    ...current,
    body: readBody({ sparse, target, payload }).body,
    cadence: asStored(spec.cadence),
    version,
    lastVersion: version,
    specVersion: version,
    updatedAt: state.now,
    updatedBy: caller.name,
  };
}
