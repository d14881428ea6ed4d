import { isRun, nextAfter } from "../cadence/cadence.ts";
import type { Tx } from "../db/connect.ts";
import type { Outcome } from "../explain/verdict.ts";
import { type JobRead, readJobsAt } from "../job/read-job.ts";
import { isBeyond, type RunLimit, runLimitOf } from "../plan/fires-left.ts";
import { cutOf, plannedUpTo, readShards, type ShardState, stateOf } from "../plan/shard.ts";
import { findSchedulesById, type StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import { orUnread } from "../schedule/stored/stored-spec.ts";
import { dueAt, timetableOf } from "../schedule/stored/timetable.ts";
import { passedAt } from "./passed.ts";
import type { Candidate } from "./sources.ts";
import { type AgendaRow, heldNow, rowOfJob, waitsFor } from "./window.ts";

/**
 * The rows of candidates, each at its index. Null for a candidate that is no occurrence of its
 * schedule, because of `startsAt`, `endsAt` or `maxFires`, and for one of a version that has ended.
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
  const judged: (Judged | null)[] = [];
  for (const { id, at } of candidates) {
    const schedule = schedules.get(id);
    if (schedule === undefined) judged.push(null);
    else {
      const job = jobs.get(nameOf(id, new Date(at))) ?? null;
      const limit = job === null ? await limitOf(tx, limits, schedule, cutOf(states)) : null;
      const state = stateOf(states, schedule.shard);
      judged.push(orUnread(schedule, (read) => judgedAt(read, { at, job, limit, state })));
    }
  }
  return withPassed(tx, judged);
}

const nameOf = (id: string, occurrence: Date) => `${id}-${occurrence.getTime()}`;

interface Judged {
  row: AgendaRow;
  /** No job was made, although its due time has been planned. */
  isAbsent: boolean;
}

interface Facts {
  at: number;
  job: JobRead | null;
  limit: RunLimit | null;
  state: ShardState;
}

function judgedAt(schedule: StoredSchedule, { at, job, limit, state }: Facts): Judged | null {
  const now = state.now.getTime();
  if (job !== null) return { row: rowOfJob(job, { now, held: heldNow(schedule, now) }), isAbsent: false };
  const timetable = timetableOf(schedule);
  const { cadence } = timetable;
  if (nextAfter(cadence, at - 1) !== at) return null;
  const due = dueAt(timetable, at);
  // An occurrence that was due by the last edit is one of the version before it.
  if (due <= now && due <= schedule.updatedAt.getTime()) return null;
  if (limit !== null && isBeyond(cadence, at, limit)) return null;
  const isLeftOut = !isRun(cadence, at);
  const outcome = isLeftOut ? "skipped" : outcomeWhen(schedule, due, state);
  const row: AgendaRow = {
    occurrence: new Date(at),
    dueAt: new Date(due),
    key: schedule.key,
    scheduleId: schedule.id,
    kind: "cadence",
    outcome,
    reason: isLeftOut ? "calendar" : null,
    job: null,
    passedOver: null,
  };
  return { row, isAbsent: !isLeftOut && outcome === "unrecorded" };
}

/** The outcome of a run that has no job. */
function outcomeWhen(schedule: StoredSchedule, due: number, state: ShardState): Outcome {
  const now = state.now.getTime();
  if (isHeldWhen(schedule, due, now)) return "held";
  if (due > now) return "planned";
  if (schedule.aside !== null) return "set-aside";
  return due <= plannedUpTo(state, schedule.id).getTime() ? "unrecorded" : "not-planned-yet";
}

function isHeldWhen(schedule: StoredSchedule, due: number, now: number): boolean {
  const { heldSince } = schedule;
  return heldSince !== null && due > heldSince.getTime() && waitsFor(heldNow(schedule, now), due);
}

async function limitOf(
  tx: Tx,
  known: Map<string, RunLimit | null>,
  schedule: StoredSchedule,
  now: Date,
): Promise<RunLimit | null> {
  const limit = known.get(schedule.id) ?? (await runLimitOf(tx, schedule, now));
  known.set(schedule.id, limit);
  return limit;
}

/** Looks up the reasons of those that have no job. */
async function withPassed(tx: Tx, judged: readonly (Judged | null)[]): Promise<(AgendaRow | null)[]> {
  const absent = judged.flatMap((each) => (each?.isAbsent === true ? [each.row] : []));
  const reasons = absent.length === 0 ? new Map<string, string>() : await passedAt(tx, absent);
  return judged.map((each) => {
    if (each === null || !each.isAbsent) return each?.row ?? null;
    const reason = reasons.get(nameOf(each.row.scheduleId, each.row.occurrence));
    if (reason === undefined) return each.row;
    return reason === "backlog"
      ? { ...each.row, outcome: "backlog" }
      : { ...each.row, outcome: "skipped", reason };
  });
}
