import { nextAfter, previousBefore } from "../cadence/cadence.ts";
import { countWithin } from "../cadence/count-within.ts";
import type { Tx } from "../db/connect.ts";
import { withdraw, withdrawReleased } from "../job/withdraw.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import { isPulse } from "../schedule/pulse-shape.ts";
import type { StoredSchedule } from "../schedule/stored-schedule.ts";
import { afterFires, firstDueAfter, occurrenceDueBy, timetableOf } from "../schedule/timetable.ts";
import { asideOf, owedOf } from "./aside.ts";
import { momentOf } from "./instants.ts";
import { tellPassed } from "./passed-told.ts";
import { firePlanned, pendingRows, plannedOf } from "./plan-schedule.ts";
import { fireRelease, isRelease, unfoldHeld, withoutLimit } from "./release.ts";
import { missedAfterMs, plannedUpTo, type ShardState } from "./shard.ts";

/**
 * Up to the cut the version that ends has its jobs, after it none. `keepPending`: the cadence changes, so what occurred by
 * the cut and is due later (a spread, a slot) can only be planned by the version that ends: it keeps its due time. `isPlanned`: what
 * the ticks lag behind with is made already.
 */
export async function endVersion(
  tx: Tx,
  current: StoredSchedule,
  state: ShardState,
  { keepPending, isPlanned }: { keepPending: boolean; isPlanned: boolean },
): Promise<OutgoingParcel[]> {
  if (isPulse(current)) return [];
  const { id, heldSince, heldUntil } = current;
  const timetable = timetableOf(current);
  const cut = state.now.getTime();
  const reached = Math.max(state.reachedAt.getTime(), state.watermarkAt.getTime());
  const upTo = occurrenceDueBy(timetable, reached);
  if (heldSince !== null) {
    if (heldUntil === null) return [];
    await withdraw(tx, id, timetable.cadence, {
      after: occurrenceDueBy(timetable, heldUntil.getTime()),
      upTo,
      cut: state.now,
    });
    const held = unfoldHeld(withoutLimit(timetable), heldSince, heldUntil);
    const released = [...(held?.runs ?? []), ...(held?.backlog ?? [])].map(({ at }) => new Date(at));
    await withdrawReleased(tx, id, { released, heldSince, heldUntil });
    return [];
  }
  const lags = !isPlanned && (plannedUpTo(state, id) < state.now || asideOf(current) !== null);
  const lagging = lags ? (await planPending(tx, current, state)).parcels : [];
  if (!keepPending) {
    await withdraw(tx, id, timetable.cadence, {
      after: occurrenceDueBy(timetable, cut),
      upTo,
      cut: state.now,
    });
    return lagging;
  }
  const first = firstDueAfter(timetable, cut);
  const kept =
    first !== null && first <= cut && timetable.firesLeft !== 0
      ? await firePlanned(tx, state, plannedOf(current), first, {
          missedUpTo: Number.NEGATIVE_INFINITY,
          upTo: cut,
        })
      : null;
  await withdraw(tx, id, timetable.cadence, { after: cut, upTo, cut: state.now });
  return [...lagging, ...(kept?.parcels ?? [])];
}

/** Where the ticks lag behind the cut, what the old version owed up to it is made now: its plan rows die with the version. */
export async function planPending(
  tx: Tx,
  current: StoredSchedule,
  state: ShardState,
): Promise<{ parcels: OutgoingParcel[]; firesLeft: number | null }> {
  const planned = plannedOf(current);
  let { timetable } = planned;
  const parcels: OutgoingParcel[] = [];
  const pending = (await pendingRows(tx, state, current)).map((row) => ({
    ...row,
    held: isRelease(timetable, current.heldUntil, row) ? {} : null,
  }));
  for (const row of [...owedOf(current), ...pending]) {
    if (timetable.firesLeft === 0) break;
    if (row.held !== null) {
      const released = await fireRelease(tx, state, { ...current, ...row.held }, current.version);
      parcels.push(...released.parcels);
      timetable = afterFires(timetable, released.made);
      continue;
    }
    const moment = momentOf(timetable, {
      now: state.now.getTime(),
      bound: state.now.getTime(),
      missedAfterMs,
    });
    const occurrence = row.occurrence.getTime();
    const fired = await firePlanned(tx, state, { ...planned, timetable }, occurrence, moment);
    parcels.push(...fired.parcels);
    timetable = afterFires(timetable, fired.jobs);
  }
  return { parcels, firesLeft: timetable.firesLeft };
}

/** A schedule that gets another cadence while it is held: what the old one had up to now is passed over, and stands in the ledger. */
export async function notePassedUnderOldCadence(tx: Tx, current: StoredSchedule, cut: Date): Promise<void> {
  if (isPulse(current)) return;
  const timetable = timetableOf(current);
  const { cadence } = timetable;
  const since = occurrenceDueBy(timetable, (current.heldSince ?? cut).getTime());
  // What has occurred and is not due yet is passed over with the rest: the new cadence does not know it.
  const upTo = cut.getTime();
  const { count, more } = countWithin(cadence, since, upTo);
  const first = nextAfter(cadence, since);
  const last = previousBefore(cadence, upTo + 1);
  if (count === 0 || first === null || last === null) return;
  await tx`
    insert into carillon.passed_over (schedule_id, from_at, to_at, count, more, reason, noted_at, shard)
    values (${current.id}, ${new Date(first)}, ${new Date(last)}, ${count}, ${more}, 'paused', ${cut}, ${current.shard})`;
  const range = { from: first, to: last, count, more, reason: "paused" };
  await tellPassed(tx, current.id, [range]);
}
