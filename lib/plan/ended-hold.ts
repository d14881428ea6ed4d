import type { Tx } from "../db/connect.ts";
import { removeEndedHolds } from "../schedule/holds.ts";
import { isPulse } from "../schedule/pulse-shape.ts";
import type { StoredSchedule } from "../schedule/stored-schedule.ts";
import { dueAt, timetableOf } from "../schedule/timetable.ts";
import { noteResumed } from "../schedule/write-schedule.ts";
import { attachMissingDays } from "./attach-days.ts";
import type { EditContext } from "./edit.ts";
import type { Unfolded } from "./instants.ts";
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
): Promise<StoredSchedule> {
  const { heldSince, heldUntil } = current;
  if (heldSince === null || heldUntil === null || heldUntil > state.now) return current;
  if (!isPulse(current))
    await notePassedUnderHold(tx, current, state, { since: heldSince, until: heldUntil });
  await removeEndedHolds(tx, [current.id], state.now);
  await noteResumed(tx, current, heldUntil);
  return { ...current, heldSince: null, heldUntil: null };
}

async function notePassedUnderHold(
  tx: Tx,
  schedule: StoredSchedule,
  state: ShardState,
  { since, until }: { since: Date; until: Date },
): Promise<void> {
  const timetable = timetableOf(schedule);
  const held = unfoldHeld(withoutLimit(timetable), since, until);
  if (held === null) return;
  // Where its fires were used up before the hold, there was nothing to be passed over.
  if (timetable.firesLeft === 0 && !(await hasReleased(tx, schedule.id, held))) return;
  const { passed, ranges } = held;
  await attachMissingDays(tx, passed, state);
  const dates = (values: readonly number[]) => tx.array(values.map((value) => new Date(value)));
  if (passed.length > 0) {
    await tx`
      insert into carillon.jobs (occurrence, schedule_id, due_at, version, state, reason, finished_at, shard)
      select p.at, ${schedule.id}, p.due_at, ${schedule.version}, 'skipped', p.reason, ${until}, ${schedule.shard}::smallint
      from unnest(${dates(passed.map(({ at }) => at))}::timestamptz[], ${dates(passed.map(({ at }) => dueAt(timetable, at)))}::timestamptz[],
        ${passed.map(({ reason }) => reason)}::text[]) p (at, due_at, reason)
      on conflict do nothing`;
  }
  if (ranges.length > 0) {
    await tx`
      insert into carillon.passed_over (schedule_id, from_at, to_at, count, more, reason, noted_at, shard)
      select ${schedule.id}, r.from_at, r.to_at, r.count, r.more, r.reason, ${until}, ${schedule.shard}::smallint
      from unnest(${dates(ranges.map(({ from }) => from))}::timestamptz[], ${dates(ranges.map(({ to }) => to))}::timestamptz[],
        ${ranges.map(({ count }) => count)}::bigint[], ${tx.array(ranges.map(({ more }) => more))}::boolean[],
        ${ranges.map(({ reason }) => reason)}::text[]) r (from_at, to_at, count, more, reason)`;
  }
  const singles = passed.map(({ at, reason }) => ({ from: at, to: at, count: 1, more: false, reason }));
  await tellPassed(tx, schedule.id, [...singles, ...ranges]);
}

async function hasReleased(tx: Tx, id: string, { runs }: Unfolded): Promise<boolean> {
  const [job] = await tx`
    select from carillon.jobs
    where occurrence = any(${tx.array(runs.map(({ at }) => new Date(at)))}::timestamptz[]) and schedule_id = ${id} and kind = 'cadence'
    limit 1`;
  return job !== undefined;
}
