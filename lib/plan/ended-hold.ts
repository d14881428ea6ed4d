import type { Tx } from "../db/connect.ts";
import { removeEndedHolds } from "../schedule/holds.ts";
import type { StoredSchedule } from "../schedule/stored-schedule.ts";
import { dueAt, timetableOf } from "../schedule/timetable.ts";
import { noteResumed } from "../schedule/write-schedule.ts";
import type { EditContext } from "./edit.ts";
import { unfoldHeld } from "./release.ts";

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
  await notePassedUnderHold(tx, current, heldSince, heldUntil);
  await removeEndedHolds(tx, current.id, state.now);
  await noteResumed(tx, current, heldUntil);
  return { ...current, heldSince: null, heldUntil: null };
}

async function notePassedUnderHold(
  tx: Tx,
  schedule: StoredSchedule,
  since: Date,
  until: Date,
): Promise<void> {
  const timetable = timetableOf(schedule);
  const held = unfoldHeld(timetable, since, until);
  if (held === null) return;
  const { passed, ranges } = held;
  const dates = (values: readonly number[]) => tx.array(values.map((value) => new Date(value)));
  if (passed.length > 0) {
    await tx`
      insert into carillon.jobs (occurrence, schedule_id, due_at, version, state, reason, finished_at)
      select p.at, ${schedule.id}, p.due_at, ${schedule.version}, 'skipped', p.reason, ${until}
      from unnest(${dates(passed.map(({ at }) => at))}::timestamptz[], ${dates(passed.map(({ at }) => dueAt(timetable, at)))}::timestamptz[],
        ${passed.map(({ reason }) => reason)}::text[]) p (at, due_at, reason)
      on conflict do nothing`;
  }
  if (ranges.length > 0) {
    await tx`
      insert into carillon.passed_over (schedule_id, from_at, to_at, count, more, reason, noted_at)
      select ${schedule.id}, r.from_at, r.to_at, r.count, r.more, r.reason, ${until}
      from unnest(${dates(ranges.map(({ from }) => from))}::timestamptz[], ${dates(ranges.map(({ to }) => to))}::timestamptz[],
        ${ranges.map(({ count }) => count)}::bigint[], ${tx.array(ranges.map(({ more }) => more))}::boolean[],
        ${ranges.map(({ reason }) => reason)}::text[]) r (from_at, to_at, count, more, reason)`;
  }
}
