import { countWithin } from "../cadence/count-within.ts";
import type { Tx } from "../db/connect.ts";
import { forgetFailures } from "../edit/apply-edit.ts";
import { occurrencesWithin, withdrawEach } from "../job/withdraw.ts";
import { holdParked, releaseHeld } from "../parcel/held.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import { isSetAside } from "../plan/aside.ts";
import { wakeBacklog } from "../plan/backlog.ts";
import { owedAfterHold } from "../plan/begin-version.ts";
import {
  type Beginning,
  firePlannedEach,
  insertPlanRows,
  type Planned,
  type PlannedRow,
  plannedOf,
} from "../plan/plan-schedule.ts";
import { parcelsOfPulses } from "../plan/pulse-parcels.ts";
import { plannedUpTo, type ShardState } from "../plan/shard.ts";
import { type Hold, heldUntilOf } from "../schedule/holds.ts";
import type { Caller } from "../schedule/shape/caller.ts";
import type { Json } from "../schedule/shape/json.ts";
import { isPulse } from "../schedule/shape/pulse-shape.ts";
import type { StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import { dueAt, firstDueAfter, occurrenceDueBy } from "../schedule/stored/timetable.ts";
import type { Held } from "../schedule/stored/version-rows.ts";
import { raiseHeldVersions } from "../schedule/write-many.ts";

/**
 * A change of holds of one schedule that is known in advance and can be written for many schedules
 * together.
 */
export interface PlainChange {
  id: string;
  /** The state of its shard. All changes of one transaction have the same cut. */
  state: ShardState;
  /** Its hold after the change. */
  held: Held | null;
  withdrawn: Date[];
  rows: PlannedRow[];
  /** Occurrences that are already due when it is released. */
  begins: Beginning[];
  /** Whether a pulse may fire from now on, or once its hold ends, and so may need parcels. */
  pulse?: boolean;
}

/**
 * The change of the holds of one schedule, with the same result as `applyEdit`. Null if `applyEdit`
 * has more to do: a lane or a limit, a due occurrence that no tick has made, a governed schedule
 * with occurrences that were due since the hold began, or a hold whose end the ticks have reached.
 */
export function plainChangeOf(
  current: StoredSchedule,
  holdsAfter: readonly Hold[],
  state: ShardState,
): PlainChange | null {
  const { id, body, lane, heldSince, heldUntil } = current;
  if (current.versionsFault !== null) return null;
  if (isPulse(current)) return pulseChangeOf(current, holdsAfter, state);
  if (isSetAside(current)) return null;
  const made = plannedUpTo(state, id);
  if (lane !== null || body.overlap !== "allow" || body.maxFires !== null || made < state.now) return null;
  const until = heldUntilOf(holdsAfter);
  if (heldSince === null) return holdsAfter.length === 0 ? null : begun(current, until, state);
  // The jobs that the end of the hold releases have been made, and would have to be withdrawn.
  if (heldUntil !== null && heldUntil <= reachedBy(state)) return null;
  const planned = { ...plannedOf(current), version: current.version + 1 };
  if (holdsAfter.length > 0) {
    const held = { since: heldSince, until };
    if (until !== null && until <= reachedBy(state)) return null;
    const rows = until === null ? [] : rowsBeyond(planned, held.since, until);
    return { id, state, held, withdrawn: [], rows, begins: [] };
  }
  const first = firstDueAfter(planned.timetable, heldSince.getTime());
  const released = { id, state, held: null, withdrawn: [], rows: [], begins: [] };
  if (first === null) return released;
  const due = dueAt(planned.timetable, first);
  if (due > made.getTime()) return { ...released, rows: [{ ...planned, occurrence: first, due }] };
  if (planned.governed) return null;
  const upTo = occurrenceDueBy(planned.timetable, made.getTime());
  const moment = { ...owedAfterHold(planned.timetable, state.now.getTime()), upTo };
  return { ...released, begins: [{ planned, first, moment }] };
}

function pulseChangeOf(
  { id, heldSince, heldUntil }: StoredSchedule,
  holdsAfter: readonly Hold[],
  state: ShardState,
): PlainChange | null {
  const { now } = state;
  if (heldUntil !== null && heldUntil <= now) return null;
  const held = holdsAfter.length === 0 ? null : { since: heldSince ?? now, until: heldUntilOf(holdsAfter) };
  return {
    id,
    state,
    held,
    withdrawn: [],
    rows: [],
    begins: [],
    pulse: held === null || held.until !== null,
  };
}

function begun(current: StoredSchedule, until: Date | null, state: ShardState): PlainChange | null {
  const { id } = current;
  const planned = { ...plannedOf(current), version: current.version + 1 };
  const { timetable } = planned;
  const withdrawn = occurrencesWithin(
    timetable.cadence,
    occurrenceDueBy(timetable, state.now.getTime()),
    occurrenceDueBy(timetable, reachedBy(state).getTime()),
  );
  const change = { id, state, held: { since: state.now, until }, withdrawn, begins: [] };
  if (until === null) return { ...change, rows: [] };
  if (until <= plannedUpTo(state, id)) return null;
  return { ...change, rows: rowsBeyond(planned, state.now, until) };
}

function reachedBy({ reachedAt, watermarkAt }: ShardState): Date {
  return reachedAt > watermarkAt ? reachedAt : watermarkAt;
}

/** The plan rows of a hold that ends by itself: its end, and the first occurrence after it. */
function rowsBeyond(planned: Planned, since: Date, until: Date): PlannedRow[] {
  const { timetable } = planned;
  const end = until.getTime();
  const [first, after] = [firstDueAfter(timetable, since.getTime()), firstDueAfter(timetable, end)];
  const rows: PlannedRow[] = [];
  if (first !== null && dueAt(timetable, first) <= end)
    rows.push({ ...planned, governed: true, occurrence: first, due: end });
  if (after !== null) rows.push({ ...planned, occurrence: after, due: dueAt(timetable, after) });
  return rows;
}

/**
 * How many jobs a change withdraws and makes. Occurrences that were missed under the hold, perhaps months of
 * them, become few rows.
 */
export function jobsOfPlain({ withdrawn, begins }: PlainChange): number {
  return begins.reduce((sum, { planned: { timetable }, first, moment }) => {
    const after = Math.max(first - 1, moment.missedUpTo);
    return sum + countWithin(timetable.cadence, after, moment.upTo).count;
  }, withdrawn.length);
}

/**
 * Writes the changes, of any shards. Requires the locks of an edit of each schedule. The caller
 * writes the rows in carillon.holds.
 */
export async function applyPlainChanges(
  tx: Tx,
  changes: readonly PlainChange[],
  { detail, author }: { detail: Json; author: Caller },
  change: "paused" | "resumed",
): Promise<OutgoingParcel[]> {
  const [first] = changes;
  if (first === undefined) return [];
  const { now } = first.state;
  await withdrawEach(
    tx,
    changes.map(({ id, withdrawn }) => ({ scheduleId: id, occurrences: withdrawn })),
    now,
  );
  await raiseHeldVersions(tx, changes, { change, detail }, { ...author, at: now });
  await insertPlanRows(
    tx,
    changes.flatMap(({ state, rows }) => rows.map((row) => ({ state, row }))),
  );
  const parcels = await fireBegun(tx, changes);
  const beating = changes.filter(({ pulse }) => pulse === true).map(({ id }) => id);
  parcels.push(...(await parcelsOfPulses(tx, beating)));
  const ends = Map.groupBy(
    changes.filter(({ held }) => held !== null),
    ({ held }) => held?.until?.getTime() ?? null,
  );
  for (const [end, held] of ends) {
    const ids = held.map(({ id }) => id);
    parcels.push(...(await holdParked(tx, ids, end === null ? null : new Date(end))));
  }
  // A caller who resumes has fixed the cause of the failures.
  if (change === "resumed")
    await forgetFailures(
      tx,
      changes.map(({ id }) => id),
    );
  const released = changes.filter(({ held }) => held === null).map(({ id }) => id);
  if (released.length > 0) {
    await wakeBacklog(tx, released);
    parcels.push(...(await releaseHeld(tx, released)));
  }
  return parcels;
}

/** Makes the jobs that are due already. A parcel has jobs of one shard. */
async function fireBegun(tx: Tx, changes: readonly PlainChange[]): Promise<OutgoingParcel[]> {
  const parcels: OutgoingParcel[] = [];
  const begun = changes.filter(({ begins }) => begins.length > 0);
  for (const ofShard of Map.groupBy(begun, ({ state }) => state.shard).values()) {
    const [first] = ofShard;
    if (first === undefined) continue;
    const begins = ofShard.flatMap((each) => each.begins);
    parcels.push(...(await firePlannedEach(tx, first.state, begins)).parcels);
  }
  return parcels;
}
