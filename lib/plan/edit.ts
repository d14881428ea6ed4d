import { isDeepStrictEqual } from "node:util";
import { type Cadence, countWithin, nextAfter, previousBefore } from "../cadence/cadence.ts";
import type { Tx } from "../db/connect.ts";
import { closeGate, lockPlanShared } from "../db/locks.ts";
import { withdraw } from "../job/withdraw.ts";
import { cancelHeld, releaseHeld } from "../parcel/held.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import { type Hold, removeHold, removeHolds, setHold } from "../schedule/holds.ts";
import { lockSchedule, type StoredSchedule } from "../schedule/stored-schedule.ts";
import { cadenceId, raiseVersion, type ScheduleChange, type Spec } from "../schedule/write-schedule.ts";
import { firePlanned, type Planned, pendingOccurrence, planFrom } from "./plan-schedule.ts";
import { plannedUpTo, readShard, type ShardState } from "./shard.ts";

/** What an edit does to a schedule; everything it does not name stays as it is. */
export interface Edit {
  change: ScheduleChange;
  spec?: Spec;
  setHold?: Hold;
  /** The owner whose hold goes. */
  removeHold?: string;
  delete?: boolean;
}

export interface EditContext {
  current: StoredSchedule;
  /** Where its shard stood, and the time, once everything was locked: the edit's cut. */
  state: ShardState;
}

/** Plan lock, gate and schedule, in this order; then where the shard stands, and what the time is: the edit's cut. */
export async function lockForEdit(tx: Tx, found: { id: string; shard: number }): Promise<EditContext | null> {
  // Four statements with four snapshots, sent in this order.
  const [, , current, state] = await Promise.all([
    lockPlanShared(tx, found.shard),
    closeGate(tx, found.shard),
    lockSchedule(tx, found.id),
    readShard(tx, found.shard),
  ]);
  return current === null ? null : { current, state };
}

/**
 * An edit cuts time at `state.now`. Occurrences due at or before the cut belong to the old version and still run, with what
 * the schedule says when they are claimed; those after it are withdrawn, and the new version is planned from the cut on.
 * Each step is a statement of its own, under the plan lock (shared) and the gate. Returns the parcels to send after the commit.
 */
export async function applyEdit(
  tx: Tx,
  { current, state }: EditContext,
  edit: Edit,
  holdsLeft: boolean,
  author: string,
): Promise<OutgoingParcel[]> {
  const cut = state.now;
  const wasHeld = current.heldSince !== null;
  const isHeld = holdsLeft && edit.delete !== true;
  const lagging = wasHeld ? [] : await endVersion(tx, current, state);
  if (edit.setHold !== undefined) await setHold(tx, current.id, edit.setHold);
  if (edit.removeHold !== undefined) await removeHold(tx, current.id, edit.removeHold);
  const cadence = edit.spec?.cadence ?? current.cadence;
  // While the cadence is the same, a hold goes on and what is owed since it began is left to the resume.
  const kept = isDeepStrictEqual(cadence, current.cadence);
  const next = firstAfterEdit(current.cadence, cadence, cut);
  if (wasHeld && !kept) await notePassed(tx, current, cut);

  const id = edit.spec === undefined ? current.cadenceId : await cadenceId(tx, edit.spec.cadence);
  const goesOnSince = kept ? current.heldSince : null;
  const heldSince = isHeld ? (goesOnSince ?? heldFrom(next, cut)) : null;
  const version = await raiseVersion(
    tx,
    current,
    {
      change: edit.change,
      spec: edit.spec,
      // A version that changes only the state names no cadence: the schedule keeps that of its spec.
      cadenceId: edit.spec === undefined ? null : id,
      heldSince,
      deleted: edit.delete,
    },
    { name: author, at: cut },
  );
  if (edit.delete === true) {
    await removeHolds(tx, current.id);
    await cancelHeld(tx, current.id);
  }
  if (edit.delete === true || isHeld) return lagging;
  const planned = { id: current.id, version, cadence, cadenceId: id };
  return [
    ...lagging,
    ...(await planVersion(tx, state, planned, { heldSince: current.heldSince, kept, next })),
  ];
}

/** Plans the version that begins: after a hold from where it began, else from the cut; what waited for the hold is let go. */
async function planVersion(
  tx: Tx,
  state: ShardState,
  planned: Planned,
  { heldSince, kept, next }: { heldSince: Date | null; kept: boolean; next: number | null },
): Promise<OutgoingParcel[]> {
  if (heldSince === null) return planFrom(tx, state, planned, next, "missed");
  const parcels = kept
    ? await planFrom(tx, state, planned, nextAfter(planned.cadence, heldSince.getTime()), "paused")
    : await planFrom(tx, state, planned, next, "missed");
  return [...parcels, ...(await releaseHeld(tx, planned.id))];
}

/** Up to the cut the version that ends has its jobs, after it none. */
async function endVersion(tx: Tx, current: StoredSchedule, state: ShardState): Promise<OutgoingParcel[]> {
  const lagging = await planUpToCut(tx, current, state);
  const { id, cadence } = current;
  await withdraw(tx, id, cadence, state.now, later(state.reachedAt, state.watermarkAt));
  return lagging;
}

/** Where the ticks lag behind the cut, what the old version owed up to it is made now: its plan rows die with the version. */
async function planUpToCut(tx: Tx, current: StoredSchedule, state: ShardState): Promise<OutgoingParcel[]> {
  if (plannedUpTo(state, current.id) >= state.now) return [];
  const first = await pendingOccurrence(tx, state, current);
  if (first === null) return [];
  const { id, version, cadence, cadenceId } = current;
  return (await firePlanned(tx, state, { id, version, cadence, cadenceId }, first, state.now, "missed"))
    .parcels;
}

/** A new `at` may lie up to a minute in the past and then runs at once; every other cadence goes on after the cut. */
function firstAfterEdit(before: Cadence, after: Cadence, cut: Date): number | null {
  const isNewOnce = after.kind === "once" && !(before.kind === "once" && before.at === after.at);
  return isNewOnce ? after.at : nextAfter(after, cut.getTime());
}

/** Occurrences after this are not planned while the hold stands: those after the cut, and a new `at` that is a little past. */
export function heldFrom(next: number | null, cut: Date): Date {
  return next !== null && next <= cut.getTime() ? new Date(next - 1) : cut;
}

/** A schedule that gets another cadence while it is held: what the old one had up to now is passed over, and stands in the ledger. */
async function notePassed(tx: Tx, current: StoredSchedule, cut: Date): Promise<void> {
  const since = (current.heldSince ?? cut).getTime();
  const { count, more } = countWithin(current.cadence, since, cut.getTime());
  const first = nextAfter(current.cadence, since);
  const last = previousBefore(current.cadence, cut.getTime() + 1);
  if (count === 0 || first === null || last === null) return;
  await tx`
    insert into carillon.passed_over (schedule_id, from_at, to_at, count, more, reason, noted_at)
    values (${current.id}, ${new Date(first)}, ${new Date(last)}, ${count}, ${more}, 'paused', ${cut})`;
}

function later(a: Date, b: Date): Date {
  return a > b ? a : b;
}
