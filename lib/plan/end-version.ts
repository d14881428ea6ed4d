import { countWithin, nextAfter, previousBefore } from "../cadence/cadence.ts";
import type { Tx } from "../db/connect.ts";
import { withdraw, withdrawReleased } from "../job/withdraw.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import type { StoredSchedule } from "../schedule/stored-schedule.ts";
import { firstDueAfter, occurrenceDueBy, timetableOf } from "../schedule/timetable.ts";
import { momentOf } from "./instants.ts";
import { firePlanned, pendingRows, plannedOf } from "./plan-schedule.ts";
import { fireRelease, isRelease } from "./release.ts";
import { missedAfterMs, plannedUpTo, type ShardState } from "./shard.ts";

/**
 * Up to the cut the version that ends has its jobs, after it none. `keepPending`: the cadence changes, so what occurred by
 * the cut and is due later (a spread, a slot) can only be planned by the version that ends: it keeps its due time.
 */
export async function endVersion(
  tx: Tx,
  current: StoredSchedule,
  state: ShardState,
  { keepPending }: { keepPending: boolean },
): Promise<OutgoingParcel[]> {
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
    await withdrawReleased(tx, id, heldSince, heldUntil);
    return [];
  }
  const lagging = plannedUpTo(state, id) < state.now ? await planPending(tx, current, state) : [];
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
): Promise<OutgoingParcel[]> {
  const planned = plannedOf(current);
  const parcels: OutgoingParcel[] = [];
  for (const row of await pendingRows(tx, state, current)) {
    if (isRelease(planned.timetable, current.heldUntil, row)) {
      parcels.push(...(await fireRelease(tx, state, current, current.version)));
      continue;
    }
    const moment = momentOf(planned.timetable, {
      now: state.now.getTime(),
      bound: state.now.getTime(),
      missedAfterMs,
    });
    const fired = await firePlanned(tx, state, planned, row.occurrence.getTime(), moment);
    parcels.push(...fired.parcels);
  }
  return parcels;
}

/** A schedule that gets another cadence while it is held: what the old one had up to now is passed over, and stands in the ledger. */
export async function notePassedUnderOldCadence(tx: Tx, current: StoredSchedule, cut: Date): Promise<void> {
  const timetable = timetableOf(current);
  const { cadence } = timetable;
  const since = occurrenceDueBy(timetable, (current.heldSince ?? cut).getTime());
  const upTo = occurrenceDueBy(timetable, cut.getTime());
  const { count, more } = countWithin(cadence, since, upTo);
  const first = nextAfter(cadence, since);
  const last = previousBefore(cadence, upTo + 1);
  if (count === 0 || first === null || last === null) return;
  await tx`
    insert into carillon.passed_over (schedule_id, from_at, to_at, count, more, reason, noted_at)
    values (${current.id}, ${new Date(first)}, ${new Date(last)}, ${count}, ${more}, 'paused', ${cut})`;
}
