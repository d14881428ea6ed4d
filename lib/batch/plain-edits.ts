import type { Tx } from "../db/connect.ts";
import { firstAfterEdit, forgetFailures, startsAfresh } from "../edit/apply-edit.ts";
import { endRechecksBy, withWaitingRechecks } from "../edit/end-rechecks.ts";
import { occurrencesWithin, withdrawEach, withdrawLeftOut } from "../job/withdraw.ts";
import { cancelHeld } from "../parcel/held.ts";
import { cancelInLanesOf, keepLanes, laneRules, type Passing, rearrangeLanes } from "../parcel/lanes.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import { planFromEach, rulesOf } from "../plan/plan-schedule.ts";
import { removeHolds } from "../schedule/holds.ts";
import { cadenceIds } from "../schedule/stored/cadence-columns.ts";
import type { StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import { occurrenceDueBy, timetableOf } from "../schedule/stored/timetable.ts";
import type { Raised } from "../schedule/write-many.ts";
import { asksForElse, raiseVersions } from "../schedule/write-schedule.ts";
import { type DecidedEdit, isKept } from "./divide-edits.ts";

/**
 * Applies plain edits together, with the same result as `applyEdit` of each. Requires the locks of
 * all of them.
 */
export async function applyPlainEdits(tx: Tx, edits: readonly DecidedEdit[]): Promise<OutgoingParcel[]> {
  if (edits.length === 0) return [];
  const withJobs = edits.filter(({ current }) => current.body.delivery !== "pulse");
  await withdrawAhead(tx, withJobs);
  const written = edits.flatMap((each) => [...(each.folded ?? []), each]);
  const specs = written.map(({ current, edit: { spec } }) => ({
    cadence: spec?.cadence ?? current.cadence,
    calendar: spec === undefined ? current.calendar : spec.calendar,
  }));
  const idOf = new Map((await cadenceIds(tx, specs)).map((id, index) => [written[index], id]));
  const last = new Set(edits);
  const raised = await raiseVersions(
    tx,
    written.map((each) => ({
      current: each.current,
      raised: {
        change: each.edit.change,
        spec: each.edit.spec,
        cadenceId: each.edit.spec === undefined ? null : idOf.get(each),
        held: null,
        deleted: each.edit.delete,
        detail: each.edit.detail,
      },
      author: { ...each.caller, at: each.state.now },
      isBetween: !last.has(each),
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
  const planned = edits.flatMap((each) => {
    const head = raised.get(each.current.id);
    if (head === undefined) throw new Error(`The locked schedule ${each.current.id} has no row.`);
    return each.edit.delete === true ? [] : [planOf(each, { ...head, cadenceId: idOf.get(each) ?? null })];
  });
  return [...moved, ...freed, ...(await planFromEach(tx, planned))];
}

function passingOf(schedule: StoredSchedule): Passing {
  return { id: schedule.id, rules: laneRules(schedule) };
}

/**
 * The lanes of plain edits stay, unless a handler has begun to take groups together since the
 * schedule got its lane.
 */
async function followLanes(
  tx: Tx,
  edits: readonly DecidedEdit[],
  raised: ReadonlyMap<string, Raised>,
): Promise<OutgoingParcel[]> {
  const live = edits.filter(({ edit }) => edit.delete !== true);
  const laneOf = ({ current }: DecidedEdit) => raised.get(current.id)?.lane ?? null;
  const same = live.filter((each) => laneOf(each) === each.current.lane);
  const [first] = same;
  const parcels =
    first === undefined
      ? []
      : await keepLanes(
          tx,
          same.map(({ current }) => passingOf(current)),
          first.state.now,
        );
  for (const each of live.filter((other) => laneOf(other) !== other.current.lane)) {
    const { current, state, edit } = each;
    const body = edit.spec?.body ?? current.body;
    const rules = { before: laneRules(current), after: laneRules({ body, lane: laneOf(each) }) };
    parcels.push(...(await rearrangeLanes(tx, current, { ...rules, cut: state.now, isHeld: false })));
  }
  return parcels;
}

/**
 * Withdraws the jobs made ahead. Occurrences due after the cut, which all edits share, are planned
 * again.
 */
async function withdrawAhead(tx: Tx, edits: readonly DecidedEdit[]): Promise<void> {
  const [first] = edits;
  if (first === undefined) return;
  const { now } = first.state;
  const ahead = edits.map((each) => {
    const { reachedAt, watermarkAt } = each.state;
    const { current } = each.folded?.[0] ?? each;
    const upTo = Math.max(reachedAt.getTime(), watermarkAt.getTime());
    const timetable = timetableOf(current);
    const [from, to] = [occurrenceDueBy(timetable, now.getTime()), occurrenceDueBy(timetable, upTo)];
    const { id: scheduleId, cadence } = current;
    return { scheduleId, cadence, after: from, occurrences: occurrencesWithin(cadence, from, to) };
  });
  await withdrawEach(tx, ahead, now);
  await withdrawLeftOut(tx, ahead);
}

async function endTheirRechecks(tx: Tx, edits: readonly DecidedEdit[]): Promise<OutgoingParcel[]> {
  // Only handlers request rechecks.
  const ending = edits
    .flatMap((each) => [...(each.folded ?? []), each])
    .filter(
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
