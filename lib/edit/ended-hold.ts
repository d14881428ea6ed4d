import { unreadableReason } from "../cadence/cadence.ts";
import type { Tx } from "../db/connect.ts";
import type { Maker } from "../plan/make-later.ts";
import { makeAtOnce } from "../plan/maker.ts";
import { noteRanges, type PassedOver, rangesOf } from "../plan/note-passed.ts";
import { writePassedEvents } from "../plan/passed-events.ts";
import { hadRunsLeft, unfoldHeld, withoutLimit } from "../plan/release.ts";
import { plannedUpTo, type ShardState } from "../plan/shard.ts";
import { removeEndedHolds } from "../schedule/holds.ts";
import { isPulse } from "../schedule/shape/pulse-shape.ts";
import type { StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import { timetableOf } from "../schedule/stored/timetable.ts";
import { noteResumed } from "../schedule/write-schedule.ts";

/** A schedule whose hold has an end that has passed. */
export type Ended = StoredSchedule & { heldSince: Date; heldUntil: Date };

export function hasEndedHold(schedule: StoredSchedule, { now }: ShardState): schedule is Ended {
  const { heldSince, heldUntil } = schedule;
  return heldSince !== null && heldUntil !== null && heldUntil <= now;
}

/**
 * If the ticks have not reached the end of a hold, the hold stays until they, or the end of the
 * version, have made the released jobs. It also stays while the cadence cannot be read, since only
 * the cadence says which occurrences were skipped.
 */
export function staysBeyondEnd(schedule: Ended, state: ShardState): boolean {
  if (isPulse(schedule)) return false;
  return plannedUpTo(state, schedule.id) < schedule.heldUntil || unreadableReason(schedule.cadence) !== null;
}

/**
 * Removes holds that have ended by themselves, of schedules of one shard. When a hold ended, its
 * jobs were released. This function notes the occurrences that were skipped under the holds, and
 * takes the holds off the schedules. The versions stay: nothing was edited.
 */
export async function clearEndedHolds(
  tx: Tx,
  ended: readonly Ended[],
  state: ShardState,
  maker: Maker = makeAtOnce,
): Promise<StoredSchedule[]> {
  await notePassedUnderHolds(
    tx,
    ended.map((schedule) => ({ schedule, since: schedule.heldSince, until: schedule.heldUntil })),
    state,
    maker,
  );
  const ids = ended.map(({ id }) => id);
  await removeEndedHolds(tx, ids, state.now);
  await noteResumed(tx, ids);
  return ended.map((schedule) => ({ ...schedule, heldSince: null, heldUntil: null }));
}

export interface HeldSpan {
  schedule: StoredSchedule;
  since: Date;
  until: Date;
}

/** Notes the occurrences that were due under holds that have ended, and that do not run. */
export async function notePassedUnderHolds(
  tx: Tx,
  spans: readonly HeldSpan[],
  state: ShardState,
  maker: Maker = makeAtOnce,
): Promise<void> {
  const passedOver: PassedOver[] = [];
  for (const { schedule, since, until } of spans) {
    if (isPulse(schedule)) continue;
    const timetable = timetableOf(schedule);
    const held = unfoldHeld(withoutLimit(timetable), since, until);
    if (held === null) continue;
    // If its fires were used up before the hold, no occurrence was skipped.
    if (timetable.firesLeft === 0 && !(await hadRunsLeft(tx, schedule, until, held))) continue;
    passedOver.push({ schedule, passed: held.passed, ranges: held.ranges, notedAt: until });
  }
  await maker.noteSkipped(tx, state, passedOver);
  await noteRanges(tx, passedOver);
  await writePassedEvents(
    tx,
    passedOver.flatMap(({ schedule: { id }, passed, ranges }) =>
      [...rangesOf(passed), ...ranges].map((range) => ({ scheduleId: id, ...range })),
    ),
  );
}
