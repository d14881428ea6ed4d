import type { Cadence } from "../cadence/cadence-kinds.ts";
import type { Tx } from "../db/connect.ts";
import { jobId, parseJobId } from "../job/job-id.ts";
import { type JobRead, readJob } from "../job/read-job.ts";
import { plannedUpTo, readShard, type ShardState } from "../plan/shard.ts";
import { isHeldAt } from "../schedule/held.ts";
import { findScheduleById, type StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import { dueAt, timetableOf } from "../schedule/stored/timetable.ts";

/**
 * Reads a job by its id, also before it has a row: the id of a one-time schedule's job is known
 * when it is created, and a tick writes the row some minutes before it is due.
 */
export async function readAnyJob(tx: Tx, id: string): Promise<JobRead | null> {
  const made = await readJob(tx, id);
  if (made !== null) return made;
  const schedule = await scheduleOnceAt(tx, id);
  const planned = schedule === null ? null : await plannedJob(tx, schedule);
  // A tick may have made the job between the two queries.
  return planned ?? (schedule === null ? null : readJob(tx, id));
}

/**
 * Whether the schedule that the id of a job names has a key under the prefix. No job is read, so that
 * the time of the answer does not depend on whether a schedule of another prefix has the job.
 */
export async function isJobUnder(tx: Tx, id: string, prefix: string): Promise<boolean> {
  const key = parseJobId(id);
  if (key === null) return false;
  const rows = await tx`
    select from (select key from carillon.schedules where id = ${key.scheduleId} offset 0) s where starts_with(s.key, ${prefix})`;
  return rows.length > 0;
}

/**
 * Whether a schedule runs once and deletes itself at its end: a job requested without a lasting
 * schedule.
 */
export function isJob({ cadence, body }: Pick<StoredSchedule, "cadence" | "body">): boolean {
  return onceOf(cadence) !== null && body.deleteOnEnd;
}

/** The instant of a one-time schedule, else null. */
export function onceOf(cadence: Cadence): number | null {
  if (cadence.kind === "window" || cadence.kind === "calendared") return onceOf(cadence.of);
  return cadence.kind === "once" ? cadence.at : null;
}

/** The schedule whose only run has this id, also if it is deleted. */
export async function scheduleOnceAt(tx: Tx, id: string): Promise<StoredSchedule | null> {
  const key = parseJobId(id);
  if (key === null || key.kind !== "cadence" || key.n !== 0) return null;
  const schedule = await findScheduleById(tx, key.scheduleId);
  return schedule !== null && onceOf(schedule.cadence) === key.occurrence.getTime() ? schedule : null;
}

/**
 * The job of a one-time schedule while it has no row, or as cancelled if the schedule was deleted
 * before the job was made. Null if the job has a row, or may have had one.
 */
export async function plannedJob(tx: Tx, schedule: StoredSchedule): Promise<JobRead | null> {
  const [[row], state] = await Promise.all([
    tx<{ deletedAt: Date | null; keptFrom: Date }[]>`
      select s.deleted_at as "deletedAt", r.kept_from as "keptFrom"
      from carillon.schedules s cross join carillon.retention r where s.id = ${schedule.id}`,
    readShard(tx, schedule.shard),
  ]);
  if (row === undefined) return null;
  if (row.deletedAt === null) return jobToCome(schedule, state);
  const job = jobNeverMade(schedule, row.deletedAt, row.keptFrom);
  // The job may have been made after the jobs were read, and before the schedule was deleted. A
  // deleted schedule gets no more jobs.
  return job === null ? null : ((await readJob(tx, job.id)) ?? job);
}

/** The job of a one-time schedule while it has no row. Null if the ticks have passed it. */
export function jobToCome(schedule: StoredSchedule, state: ShardState): JobRead | null {
  const at = onceOf(schedule.cadence);
  if (at === null) return null;
  const due = new Date(dueAt(timetableOf(schedule), at));
  const isHeld = isHeldAt(schedule, Math.max(state.now.getTime(), due.getTime()));
  if (due <= plannedUpTo(state, schedule.id) && !isHeld) return null;
  const waits = isHeld
    ? ({ waitsFor: "hold", readyAt: null } as const)
    : ({ waitsFor: "time", readyAt: due } as const);
  return { ...jobWithoutRow(schedule, at, due), ...waits };
}

/**
 * The cancelled job of a deleted one-time schedule, if the job has no row because it was never
 * made. Null if the rows of its day are no longer kept: then it may have been made.
 */
function jobNeverMade(schedule: StoredSchedule, deletedAt: Date, keptFrom: Date): JobRead | null {
  const at = onceOf(schedule.cadence);
  if (at === null || at < keptFrom.getTime()) return null;
  const due = new Date(dueAt(timetableOf(schedule), at));
  const gone = { state: "cancelled", reason: "deleted", finishedAt: deletedAt } as const;
  return { ...jobWithoutRow(schedule, at, due), ...gone };
}

function jobWithoutRow({ id, key, version, body }: StoredSchedule, at: number, due: Date): JobRead {
  const occurrence = new Date(at);
  return {
    id: jobId({ scheduleId: id, occurrence, kind: "cadence", n: 0 }),
    kind: "cadence",
    n: 0,
    key,
    scheduleId: id,
    version,
    group: body.group,
    occurrence,
    dueAt: due,
    state: "waiting",
    reason: null,
    attempt: 0,
    checks: 0,
    waitsFor: null,
    readyAt: null,
    startedAt: null,
    finishedAt: null,
    latenessMs: null,
    durationMs: null,
    cancelling: false,
    error: null,
    errorGroup: null,
    recheckOf: null,
    payload: body.payload,
    attempts: [],
  };
}
