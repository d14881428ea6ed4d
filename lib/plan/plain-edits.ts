import { isDeepStrictEqual } from "node:util";
import { leavesOut } from "../cadence/cadence.ts";
import type { Tx } from "../db/connect.ts";
import { occurrencesWithin, withdrawEach } from "../job/withdraw.ts";
import { cancelHeld } from "../parcel/held.ts";
import { cancelInLanesOf, keepLanes, laneRules, type Passing, rearrangeLanes } from "../parcel/lanes.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import { cadenceIds } from "../schedule/cadence-columns.ts";
import type { Caller } from "../schedule/caller.ts";
import { type Hold, removeHolds } from "../schedule/holds.ts";
import type { ScheduleBody } from "../schedule/schedule-body.ts";
import type { StoredSchedule } from "../schedule/stored-schedule.ts";
import { targetName } from "../schedule/target-name.ts";
import { longestLag, occurrenceDueBy, timetableOf } from "../schedule/timetable.ts";
import { asksForElse, type Raised, raiseVersions } from "../schedule/write-schedule.ts";
import { isSetAside } from "./aside.ts";
import { type Edit, firstAfterEdit, forgetFailures, startsAfresh } from "./edit.ts";
import { endRechecksBy, withWaitingRechecks } from "./end-rechecks.ts";
import { planFromEach, rulesOf, withPendingRows } from "./plan-schedule.ts";
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

/** What only the database knows of the schedules of a wave. */
interface Circumstances {
  /** Targets that are handlers which take a group together. */
  grouped: ReadonlySet<string>;
  /** Schedules of which the ticks, that lag behind, have something due left to make. */
  pending: ReadonlySet<string>;
}

/** Divides edits into those that come to no more than `applyPlainEdits` does, and the others. */
export async function plainAmong(
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
 * True where an edit comes to this: what is not due yet is withdrawn, the version is raised, and it is planned anew. False where
 * `applyEdit` has more to do: a hold, other lanes than before, another cadence while something waits to be due, days left out, or what
 * the ticks owe.
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
    !leavesOut(cadence) &&
    !isSetAside(current) &&
    current.versionsFault === null &&
    !pending.has(id)
  );
}

function isKept({ cadence }: StoredSchedule, edit: Edit): boolean {
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

/** Comes to the same as `applyEdit` of each; under the locks of all. */
export async function applyPlainEdits(tx: Tx, edits: readonly DecidedEdit[]): Promise<OutgoingParcel[]> {
  if (edits.length === 0) return [];
  const withJobs = edits.filter(({ current }) => current.body.delivery !== "pulse");
  await withdrawAhead(tx, withJobs);
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
  const deleted = edits.filter(({ edit }) => edit.delete === true).map(({ current }) => current);
  if (deleted.length > 0) {
    const gone = deleted.map(({ id }) => id);
    await removeHolds(tx, gone);
    await cancelHeld(tx, gone);
  }
  const moved = [
    ...(await cancelInLanesOf(tx, deleted.map(passingOf))),
    ...(await followLanes(tx, edits, raised)),
  ];
  const freed = await endTheirRechecks(tx, edits);
  const planned = edits.flatMap((each, index) => {
    const head = raised.get(each.current.id);
    if (head === undefined) throw new Error(`Schedule ${each.current.id} is gone under its lock.`);
    return each.edit.delete === true ? [] : [planOf(each, { ...head, cadenceId: ids[index] ?? null })];
  });
  return [...moved, ...freed, ...(await planFromEach(tx, planned))];
}

function passingOf(schedule: StoredSchedule): Passing {
  return { id: schedule.id, rules: laneRules(schedule) };
}

/** The lanes stay; but a handler may have begun to take groups together since the schedule was put into its lane. */
async function followLanes(
  tx: Tx,
  edits: readonly DecidedEdit[],
  raised: ReadonlyMap<string, Raised>,
): Promise<OutgoingParcel[]> {
  const standing = edits.filter(({ edit }) => edit.delete !== true);
  const laneOf = ({ current }: DecidedEdit) => raised.get(current.id)?.lane ?? null;
  const same = standing.filter((each) => laneOf(each) === each.current.lane);
  const [first] = same;
  const parcels =
    first === undefined
      ? []
      : await keepLanes(
          tx,
          same.map(({ current }) => passingOf(current)),
          first.state.now,
        );
  for (const each of standing.filter((other) => laneOf(other) !== other.current.lane)) {
    const { current, state, edit } = each;
    const body = edit.spec?.body ?? current.body;
    const rules = { before: laneRules(current), after: laneRules({ body, lane: laneOf(each) }) };
    parcels.push(...(await rearrangeLanes(tx, current, { ...rules, cut: state.now, isHeld: false })));
  }
  return parcels;
}

/** The jobs that were made ahead: what is due after the cut, which is one for all, is planned anew. */
async function withdrawAhead(tx: Tx, edits: readonly DecidedEdit[]): Promise<void> {
  const [first] = edits;
  if (first === undefined) return;
  const { now } = first.state;
  const ahead = edits.map(({ current, state: { reachedAt, watermarkAt } }) => {
    const upTo = Math.max(reachedAt.getTime(), watermarkAt.getTime());
    const timetable = timetableOf(current);
    const [from, to] = [occurrenceDueBy(timetable, now.getTime()), occurrenceDueBy(timetable, upTo)];
    return { scheduleId: current.id, occurrences: occurrencesWithin(current.cadence, from, to) };
  });
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
  { version, fires, cadenceId }: Raised & { cadenceId: number | null },
) {
  const cut = state.now.getTime();
  const { id } = current;
  const cadence = edit.spec?.cadence ?? current.cadence;
  const body = edit.spec?.body ?? current.body;
  const kept = isKept(current, edit);
  const timetable = timetableOf({ ...current, cadence, body, fires });
  return {
    state,
    planned: { id, version, timetable, cadenceId, ...rulesOf(body) },
    first: firstAfterEdit(timetableOf(current), timetable, kept, state.now),
    owed: kept ? { missedUpTo: Number.NEGATIVE_INFINITY, dueFrom: cut } : undefined,
  };
}
