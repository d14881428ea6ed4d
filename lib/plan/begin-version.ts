import type { Tx } from "../db/connect.ts";
import { holdParked, releaseHeld } from "../parcel/held.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import type { StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import { firstDueAfter, type Timetable, timetableOf } from "../schedule/stored/timetable.ts";
import type { Held } from "../schedule/stored/version-rows.ts";
import { owedOf } from "./aside.ts";
import { wakeBacklog } from "./backlog.ts";
import { momentOf } from "./instants.ts";
import type { Maker } from "./make-later.ts";
import type { Planned } from "./plan-schedule.ts";
import { endsByItself } from "./release.ts";
import { missedAfterMs, type ShardState } from "./shard.ts";

/**
 * Holds pending jobs back. If the hold ends by itself, also plans the first occurrence after its
 * end.
 */
export async function planHeld(
  tx: Tx,
  state: ShardState,
  schedule: StoredSchedule,
  planned: Planned,
  held: Held,
  maker: Maker,
): Promise<OutgoingParcel[]> {
  const parked = await holdParked(tx, [schedule.id], held.until);
  return endsByItself(held)
    ? [...parked, ...(await maker.planBeyondHold(tx, state, schedule, planned, held))]
    : parked;
}

/**
 * Plans a version that begins: from the start of the hold if there was one, else from the cut.
 * Releases the jobs that the hold kept waiting.
 */
export async function planVersion(
  tx: Tx,
  state: ShardState,
  planned: Planned,
  { before, kept, next, maker }: { before: StoredSchedule; kept: boolean; next: number | null; maker: Maker },
): Promise<OutgoingParcel[]> {
  const cut = state.now.getTime();
  if (before.heldSince === null) {
    // A smaller spread or slot may have moved due times before the cut: occurrences that had not
    // started run now.
    const moved = kept ? { missedUpTo: Number.NEGATIVE_INFINITY, dueFrom: cut } : undefined;
    return maker.planFrom(tx, state, planned, next, moved);
  }
  const parcels = kept
    ? await maker.planFrom(
        tx,
        state,
        planned,
        firstOwed(before, before.heldSince),
        owedAfterHold(planned.timetable, cut),
      )
    : await maker.planFrom(tx, state, planned, next);
  await wakeBacklog(tx, [planned.id]);
  return [...parcels, ...(await releaseHeld(tx, [planned.id]))];
}

/**
 * The first occurrence to plan after a hold: the one set aside before the hold, else the first due
 * since the hold began.
 */
function firstOwed(before: StoredSchedule, heldSince: Date): number | null {
  return owedOf(before)[0]?.occurrence.getTime() ?? firstDueAfter(timetableOf(before), heldSince.getTime());
}

/**
 * The bounds for occurrences due under a hold that is released at the cut: which of them are
 * missed, and which still run.
 */
export function owedAfterHold(timetable: Timetable, cut: number) {
  const { upTo: heldUpTo, ...moment } = momentOf(timetable, { now: cut, bound: cut, missedAfterMs });
  return { ...moment, heldUpTo };
}
