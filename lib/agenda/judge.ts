import { isRun, nextAfter } from "../cadence/cadence.ts";
import type { Tx } from "../db/connect.ts";
import { calendaredOf, noteOn } from "../explain/place.ts";
import type { Outcome } from "../explain/verdict.ts";
import { type JobRead, readJobsAt } from "../job/read-job.ts";
import { isBeyond, type RunLimit, runLimitOf } from "../plan/fires-left.ts";
import { plannedUpTo, readShards, type ShardState, stateOf } from "../plan/shard.ts";
import { isDueUnderHold } from "../schedule/held.ts";
import { findSchedulesById, type StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import { orUnread } from "../schedule/stored/stored-spec.ts";
import { dueAt, timetableOf } from "../schedule/stored/timetable.ts";
import type { Candidate } from "./sources.ts";
import { whyAbsent } from "./why-absent.ts";
import { type AgendaRow, rowOfJob } from "./window.ts";

/**
 * The rows of candidates, each at its index. Null for a candidate that is no occurrence of its
 * schedule, because of `startsAt`, `endsAt` or `maxFires`, for one of a version that has ended, and
 * for one that was passed over or waits in the backlog: its range is listed.
 */
export async function judge(tx: Tx, candidates: readonly Candidate[]): Promise<(AgendaRow | null)[]> {
  if (candidates.length === 0) return [];
  const states = await readShards(tx);
  const ids = [...new Set(candidates.map(({ id }) => id))];
  const schedules = new Map((await findSchedulesById(tx, ids)).map((schedule) => [schedule.id, schedule]));
  const keys = candidates.map(({ id, at }) => ({ scheduleId: id, occurrence: new Date(at) }));
  const jobs = new Map(
    (await readJobsAt(tx, keys)).map((job) => [nameOf(job.scheduleId, job.occurrence), job]),
  );
  const limits = new Map<string, RunLimit | null>();
  const judged: (AgendaRow | null)[] = [];
  for (const { id, at } of candidates) {
    const schedule = schedules.get(id);
    if (schedule === undefined) judged.push(null);
    else {
      const job = jobs.get(nameOf(id, new Date(at))) ?? null;
      const state = stateOf(states, schedule.shard);
      const limit = job === null ? await limitOf(tx, limits, schedule, state.now) : null;
      judged.push(orUnread(schedule, (read) => judgedAt(read, { at, job, limit, state })));
    }
  }
  return withoutRecorded(tx, judged);
}

const nameOf = (id: string, occurrence: Date) => `${id}-${occurrence.getTime()}`;

interface Facts {
  at: number;
  job: JobRead | null;
  limit: RunLimit | null;
  state: ShardState;
}

function judgedAt(schedule: StoredSchedule, { at, job, limit, state }: Facts): AgendaRow | null {
  const now = state.now.getTime();
  if (job !== null) {
    const note = job.version === schedule.version ? movedNote(schedule, at) : null;
    return { ...rowOfJob(job, { now, held: schedule }), note };
  }
  const timetable = timetableOf(schedule);
  const { cadence } = timetable;
  if (nextAfter(cadence, at - 1) !== at) return null;
  const due = dueAt(timetable, at);
  // An occurrence that was due by the last edit is one of the version before it. Under a hold it waits
  // on, also if the schedule was edited since.
  const isHeld = isDueUnderHold(schedule, due);
  if (!isHeld && due <= now && due <= schedule.updatedAt.getTime()) return null;
  if (limit !== null && isBeyond(cadence, at, limit)) return null;
  const isLeftOut = !isRun(cadence, at);
  return {
    occurrence: new Date(at),
    dueAt: new Date(due),
    key: schedule.key,
    scheduleId: schedule.id,
    kind: "cadence",
    outcome: isLeftOut ? "skipped" : isHeld ? "held" : outcomeWhen(schedule, due, state),
    reason: isLeftOut ? "calendar" : null,
    job: null,
    passedOver: null,
    note: movedNote(schedule, at),
  };
}

/** Only a calendar that moves occurrences costs the search for where this one came from. */
function movedNote(schedule: StoredSchedule, at: number): string | null {
  const calendared = calendaredOf(schedule.cadence);
  return calendared !== null && calendared.on !== "skip" ? noteOn(schedule, at) : null;
}

/** The outcome of a run that has no job and is not due under a hold. */
function outcomeWhen(schedule: StoredSchedule, due: number, state: ShardState): Outcome {
  if (due > state.now.getTime()) return "planned";
  // The tick that clears an expired hold makes the jobs of the time since.
  const isUncleared = schedule.heldUntil !== null && due > schedule.heldUntil.getTime();
  if (isUncleared || due > plannedUpTo(state, schedule.id).getTime()) return "not-planned-yet";
  return schedule.aside === null ? "unrecorded" : "set-aside";
}

async function limitOf(
  tx: Tx,
  known: Map<string, RunLimit | null>,
  schedule: StoredSchedule,
  now: Date,
): Promise<RunLimit | null> {
  const found = known.get(schedule.id);
  if (found !== undefined) return found;
  const limit = await runLimitOf(tx, schedule, now);
  known.set(schedule.id, limit);
  return limit;
}

async function withoutRecorded(tx: Tx, judged: readonly (AgendaRow | null)[]): Promise<(AgendaRow | null)[]> {
  const absent = judged.flatMap((row) => (row === null || row.job !== null ? [] : [row]));
  const recorded = absent.length === 0 ? new Map<string, string>() : await whyAbsent(tx, absent);
  return judged.map((row) =>
    row === null || recorded.has(nameOf(row.scheduleId, row.occurrence)) ? null : row,
  );
}
