import type { Tx } from "../db/connect.ts";
import { findSchedulesById, type StoredSchedule } from "../schedule/stored-schedule.ts";
import { afterFires, type Timetable, timetableOf } from "../schedule/timetable.ts";
import { momentOf, unfold } from "./instants.ts";
import { isRelease, unfoldHeld } from "./release.ts";
import { missedAfterMs, type ShardState } from "./shard.ts";
import type { UnfoldedRow } from "./unfolded-rows.ts";

/** A plan row of a schedule with rules of its own; `place` counts the rows of its batch from 1. */
export interface GovernedRow {
  place: number;
  scheduleId: string;
  version: number;
  occurrence: Date;
  dueAt: Date;
}

export interface GovernedLook {
  unfolded: UnfoldedRow[];
  /** Schedules whose hold ends by itself: what was due under it. */
  releases: StoredSchedule[];
  jobs: number;
  /** The place of the last row that was looked at; the batch ends there where there were too many jobs. */
  last: number | null;
}

/** Unfolds each of these rows by its schedule's own rules, in order, until there are more than `jobsMax` jobs. */
export async function unfoldGoverned(
  tx: Tx,
  state: ShardState,
  rows: readonly GovernedRow[],
  horizon: Date,
  jobsMax: number,
): Promise<GovernedLook> {
  const look: GovernedLook = { unfolded: [], releases: [], jobs: 0, last: null };
  if (rows.length === 0) return look;
  const schedules = await findSchedulesById(
    tx,
    rows.map(({ scheduleId }) => scheduleId),
  );
  const byId = new Map(schedules.map((schedule) => [schedule.id, schedule]));
  const seen = new Set<string>();
  for (const row of rows) {
    if (look.jobs > jobsMax) break;
    look.last = row.place;
    const schedule = byId.get(row.scheduleId);
    // A row of an old version dies unread.
    if (schedule === undefined || schedule.version !== row.version) continue;
    // Each row of the plan is joined with what is unfolded for it: doubled here it would square there.
    const name = `${row.scheduleId} ${row.occurrence.getTime()} ${row.dueAt.getTime()}`;
    if (seen.has(name)) continue;
    seen.add(name);
    lookAt(look, schedule, row, state, horizon);
  }
  return look;
}

/**
 * The end of a hold costs as much as so many jobs, however few it makes: what was passed over is counted twice, and it is written by statements of its own. A
 * hold of thousands ends in one instant, and the transaction of a batch must not.
 */
const releaseJobs = 125;

function lookAt(
  look: GovernedLook,
  schedule: StoredSchedule,
  { occurrence, dueAt }: GovernedRow,
  { now }: ShardState,
  horizon: Date,
): void {
  let timetable = timetableOf(schedule);
  if (isRelease(timetable, schedule.heldUntil, { occurrence, dueAt })) {
    look.releases.push(schedule);
    look.jobs += Math.max(releaseJobs, madeByRelease(schedule, timetable));
    return;
  }
  if (timetable.firesLeft !== null && look.releases.includes(schedule))
    timetable = afterFires(timetable, madeByRelease(schedule, timetable));
  const moment = momentOf(timetable, { now: now.getTime(), bound: horizon.getTime(), missedAfterMs });
  const unfolded = unfold(timetable, occurrence.getTime(), moment);
  look.jobs += unfolded.runs.length + unfolded.passed.length + unfolded.backlog.length;
  look.unfolded.push({
    ...unfolded,
    key: { scheduleId: schedule.id },
    planned: occurrence,
    plannedDue: dueAt,
    limited: timetable.firesLeft !== null,
  });
}

/** What the end of its hold makes in the same batch counts before what is due after it. */
function madeByRelease({ heldSince, heldUntil }: StoredSchedule, timetable: Timetable): number {
  const held = heldSince === null || heldUntil === null ? null : unfoldHeld(timetable, heldSince, heldUntil);
  return held === null ? 0 : held.runs.length + held.backlog.length;
}
