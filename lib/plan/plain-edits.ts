import { isDeepStrictEqual } from "node:util";
import { leavesOut } from "../cadence/cadence.ts";
import type { Tx } from "../db/connect.ts";
import { occurrencesWithin, withdrawEach } from "../job/withdraw.ts";
import { cancelHeld } from "../parcel/held.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import { cadenceIds } from "../schedule/cadence-columns.ts";
import type { Caller } from "../schedule/caller.ts";
import { type Hold, removeHolds } from "../schedule/holds.ts";
import type { ScheduleBody } from "../schedule/schedule-body.ts";
import type { StoredSchedule } from "../schedule/stored-schedule.ts";
import { isGoverned, longestLag, timetableOf } from "../schedule/timetable.ts";
import { asksForElse, raiseVersions } from "../schedule/write-schedule.ts";
import { type Edit, firstAfterEdit, forgetFailures, startsAfresh } from "./edit.ts";
import { endRechecksBy, withWaitingRechecks } from "./end-rechecks.ts";
import { planFromEach } from "./plan-schedule.ts";
import { plannedUpTo, type ShardState } from "./shard.ts";

/** An edit of one schedule among many, as it was decided. */
export interface DecidedEdit {
  /** By deciding. */
  freed?: readonly OutgoingParcel[];
  current: StoredSchedule;
  state: ShardState;
  edit: Edit;
  holdsAfter: readonly Hold[];
  caller: Caller;
}

/**
 * True where an edit comes to this: what is not due yet is withdrawn, the version is raised, and it is planned anew. False where
 * `applyEdit` has more to do: a hold, a lane, a limit, a lag between an occurrence and its due time, days left out, or ticks that
 * lag behind.
 */
export function isPlainEdit({ current, state, edit, holdsAfter }: DecidedEdit): boolean {
  const { id, body, lane, heldSince, cadence } = current;
  const after = edit.spec?.body ?? body;
  const held = edit.holds !== undefined || holdsAfter.length > 0 || heldSince !== null;
  return (
    !held &&
    edit.from === undefined &&
    lane === null &&
    !mayShareLane(after) &&
    isPlainBody(body) &&
    isPlainBody(after) &&
    !leavesOut(cadence) &&
    plannedUpTo(state, id) >= state.now
  );
}

function isPlainBody(body: ScheduleBody): boolean {
  return body.overlap === "allow" && body.maxFires === null && longestLag(body) === 0;
}

/** Whether a handler takes a group together, only the database knows. */
function mayShareLane({ group, serial, target }: ScheduleBody): boolean {
  return group !== null && (serial || "handler" in target);
}

/** Comes to the same as `applyEdit` of each; under the locks of all. */
export async function applyPlainEdits(tx: Tx, edits: readonly DecidedEdit[]): Promise<OutgoingParcel[]> {
  for (const ofShard of Map.groupBy(edits, ({ state }) => state.shard).values())
    await withdrawAhead(tx, ofShard);
  const specs = edits.map(({ current, edit: { spec } }) => ({
    cadence: spec?.cadence ?? current.cadence,
    calendar: spec === undefined ? current.calendar : spec.calendar,
  }));
  const ids = await cadenceIds(tx, specs);
  const raised = await raiseVersions(
    tx,
    edits.map(({ current, edit, caller, state }, index) => ({
      current,
      raised: {
        change: edit.change,
        spec: edit.spec,
        cadenceId: edit.spec === undefined ? null : ids[index],
        held: null,
        deleted: edit.delete,
        detail: edit.detail,
      },
      author: { ...caller, at: state.now },
    })),
  );
  const afresh = edits.filter(({ edit }) => startsAfresh.has(edit.change));
  await forgetFailures(
    tx,
    afresh.map(({ current }) => current.id),
  );
  const deleted = edits.filter(({ edit }) => edit.delete === true).map(({ current }) => current.id);
  if (deleted.length > 0) {
    await removeHolds(tx, deleted);
    await cancelHeld(tx, deleted);
  }
  const freed = await endTheirRechecks(tx, edits);
  const planned = edits.flatMap((each, index) => {
    const version = raised.get(each.current.id)?.version;
    if (version === undefined) throw new Error(`Schedule ${each.current.id} is gone under its lock.`);
    return each.edit.delete === true ? [] : [planOf(each, { version, cadenceId: ids[index] ?? null })];
  });
  return [...freed, ...(await planFromEach(tx, planned))];
}

/** The jobs that were made ahead: what is due after the cut is planned anew. */
async function withdrawAhead(tx: Tx, edits: readonly DecidedEdit[]): Promise<void> {
  const [first] = edits;
  if (first === undefined) return;
  const { now, reachedAt, watermarkAt } = first.state;
  const upTo = Math.max(reachedAt.getTime(), watermarkAt.getTime());
  const ahead = edits.map(({ current }) => ({
    scheduleId: current.id,
    occurrences: occurrencesWithin(current.cadence, now.getTime(), upTo),
  }));
  await withdrawEach(tx, ahead, now);
}

async function endTheirRechecks(tx: Tx, edits: readonly DecidedEdit[]): Promise<OutgoingParcel[]> {
  // Handlers alone ask for them.
  const ending = edits.filter(
    ({ current, edit }) =>
      "handler" in current.body.target && (edit.delete === true || asksForElse(current, edit)),
  );
  const waiting = await withWaitingRechecks(
    tx,
    ending.map(({ current }) => current.id),
  );
  const freed: OutgoingParcel[] = [];
  for (const { current, edit } of ending) {
    if (waiting.has(current.id)) freed.push(...(await endRechecksBy(tx, current, edit)));
  }
  return freed;
}

function planOf(
  { current, state, edit }: DecidedEdit,
  { version, cadenceId }: { version: number; cadenceId: number | null },
) {
  const cut = state.now.getTime();
  const { id } = current;
  const cadence = edit.spec?.cadence ?? current.cadence;
  const body = edit.spec?.body ?? current.body;
  const kept = edit.kept ?? isDeepStrictEqual(cadence, current.cadence);
  const timetable = timetableOf({ ...current, cadence, body });
  return {
    state,
    planned: { id, version, timetable, cadenceId, governed: isGoverned(body) },
    first: firstAfterEdit(timetableOf(current), timetable, kept, state.now),
    owed: kept ? { missedUpTo: Number.NEGATIVE_INFINITY, dueFrom: cut } : undefined,
  };
}
