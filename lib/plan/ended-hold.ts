import type { Tx } from "../db/connect.ts";
import { removeEndedHolds } from "../schedule/holds.ts";
import { isPulse } from "../schedule/pulse-shape.ts";
import type { StoredSchedule } from "../schedule/stored-schedule.ts";
import { timetableOf } from "../schedule/timetable.ts";
import { noteResumed } from "../schedule/write-schedule.ts";
import type { EditContext } from "./edit.ts";
import type { Unfolded } from "./instants.ts";
import { type Maker, makeAtOnce } from "./maker.ts";
import { noteRanges, rangesOf } from "./note-passed.ts";
import { tellPassed } from "./passed-told.ts";
import { unfoldHeld, withoutLimit } from "./release.ts";
import type { ShardState } from "./shard.ts";

/**
 * Clears away a hold that has ended by itself. Everything it kept waiting has been let go at the second of its end; what is left is to
 * note what was passed over under it, and to take the hold off the schedule. The version stays: nothing was edited.
 */
export async function clearEndedHold(
  tx: Tx,
  { current, state }: Pick<EditContext, "current" | "state">,
  maker: Maker = makeAtOnce,
): Promise<StoredSchedule> {
  const { heldSince, heldUntil } = current;
  if (heldSince === null || heldUntil === null || heldUntil > state.now) return current;
  if (!isPulse(current))
    await notePassedUnderHold(tx, current, state, { since: heldSince, until: heldUntil }, maker);
  await removeEndedHolds(tx, [current.id], state.now);
  await noteResumed(tx, current, heldUntil);
  return { ...current, heldSince: null, heldUntil: null };
}

async function notePassedUnderHold(
  tx: Tx,
  schedule: StoredSchedule,
  state: ShardState,
  { since, until }: { since: Date; until: Date },
  maker: Maker,
): Promise<void> {
  const timetable = timetableOf(schedule);
  const held = unfoldHeld(withoutLimit(timetable), since, until);
  if (held === null) return;
  // Where its fires were used up before the hold, there was nothing to be passed over.
  if (timetable.firesLeft === 0 && !(await hasReleased(tx, schedule.id, held))) return;
  const { passed, ranges } = held;
  await maker.noteSkipped(tx, state, schedule, passed, until);
  await noteRanges(tx, schedule, ranges, until);
  await tellPassed(tx, schedule.id, [...rangesOf(passed), ...ranges]);
}

async function hasReleased(tx: Tx, id: string, { runs }: Unfolded): Promise<boolean> {
  const [job] = await tx`
    select from carillon.jobs
    where occurrence = any(${tx.array(runs.map(({ at }) => new Date(at)))}::timestamptz[]) and schedule_id = ${id} and kind = 'cadence'
    limit 1`;
  return job !== undefined;
}
