import { unreadableReason } from "../cadence/cadence.ts";
import type { Tx } from "../db/connect.ts";
import { findSchedulesById, type StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import { afterFires, timetableOf } from "../schedule/stored/timetable.ts";
import { isReadable, type PassedRow, unreadableRow } from "./aside.ts";
import { momentOf, unfold } from "./instants.ts";
import { isRelease, madeBy, type Release, releaseOf } from "./release.ts";
import { missedAfterMs, type ShardState } from "./shard.ts";
import type { UnfoldedRow } from "./unfolded-rows.ts";
import type { TooLong } from "./unfolding-time.ts";

/** A plan row of a governed schedule. `place` numbers the rows of its batch from 1. */
export interface GovernedRow {
  place: number;
  scheduleId: string;
  version: number;
  occurrence: Date;
  dueAt: Date;
}

export interface GovernedLook {
  unfolded: UnfoldedRow[];
  /** Schedules whose hold ends by itself, each with the occurrences that were due under it. */
  releases: Release[];
  /** Rows that could not be unfolded, with the reason. They are set aside. */
  failed: { row: PassedRow; error: unknown }[];
  jobs: number;
  /** Place of the last row that was unfolded. The batch ends there if it has too many jobs. */
  last: number | null;
}

/** Unfolds rows by their schedules' rules, in order, until there are more than `jobsMax` jobs. */
export async function unfoldGoverned(
  tx: Tx,
  state: ShardState,
  rows: readonly GovernedRow[],
  { horizon, jobsMax, tooLong }: { horizon: Date; jobsMax: number; tooLong: TooLong },
): Promise<GovernedLook> {
  const look: GovernedLook = { unfolded: [], releases: [], failed: [], jobs: 0, last: null };
  if (rows.length === 0) return look;
  const schedules = await findSchedulesById(
    tx,
    rows.map(({ scheduleId }) => scheduleId),
  );
  const byId = new Map(schedules.map((schedule) => [schedule.id, schedule]));
  const seen = new Set<string>();
  tooLong.begin();
  for (const row of rows) {
    if (look.jobs > jobsMax) break;
    look.last = row.place;
    const schedule = byId.get(row.scheduleId);
    // A row of an old version is ignored.
    if (schedule === undefined || schedule.version !== row.version) continue;
    // The statement joins plan rows with unfolded rows: a duplicate here would multiply the jobs.
    const name = `${row.scheduleId} ${row.occurrence.getTime()} ${row.dueAt.getTime()}`;
    if (seen.has(name)) continue;
    seen.add(name);
    try {
      lookAt(look, schedule, row, state, horizon);
    } catch (error) {
      if (isLive(schedule, row)) look.failed.push({ row: passedRow(schedule, row), error });
    }
    tooLong.check();
  }
  return look;
}

/** Whether a row counts: one that is due under a hold is ignored. */
function isLive({ heldSince, heldUntil }: StoredSchedule, { dueAt }: GovernedRow): boolean {
  return heldSince === null || (heldUntil !== null && heldUntil <= dueAt);
}

function passedRow({ heldSince, heldUntil }: StoredSchedule, row: GovernedRow): PassedRow {
  return { ...row, heldSince: heldUntil?.getTime() === row.dueAt.getTime() ? heldSince : null };
}

/** The end of a hold counts as at least ten jobs: it is read and written apart from other rows. */
const releaseJobs = 10;

function lookAt(
  look: GovernedLook,
  schedule: StoredSchedule,
  { occurrence, dueAt }: GovernedRow,
  { now }: ShardState,
  horizon: Date,
): void {
  const reason = unreadableReason(schedule.cadence);
  if (reason !== null) throw new Error(reason);
  if (!isReadable(occurrence)) throw unreadableRow();
  let timetable = timetableOf(schedule);
  if (isRelease(timetable, schedule.heldUntil, { occurrence, dueAt })) {
    const release = releaseOf(schedule);
    look.releases.push(release);
    look.jobs += Math.max(releaseJobs, madeBy(release));
    return;
  }
  // The jobs that the end of the hold makes in this batch count before those due after it.
  const release =
    timetable.firesLeft === null ? undefined : look.releases.find((each) => each.schedule === schedule);
  if (release !== undefined) timetable = afterFires(timetable, madeBy(release));
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
