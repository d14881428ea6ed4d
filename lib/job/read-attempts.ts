import type postgres from "postgres";
import { MS_PER_DAY } from "../cadence/zone/civil.ts";
import type { Tx } from "../db/connect.ts";
import { type JobKey, jobId } from "./job-id.ts";

/** The times that all attempts of one parcel share. Null where they are not known. */
export interface ParcelTimes {
  /** When the job was made, or put up for this attempt. */
  plannedAt: Date | null;
  /** When its message was first sent. */
  sentAt: Date | null;
  /** Since when it waited for its turn at its target; null if it did not. */
  waitedSince: Date | null;
  queue: "fast" | "slow" | null;
  /** The target at which the parcel had to have a place; null where that did not matter. */
  target: string | null;
}

export interface AttemptRead extends ParcelTimes {
  attempt: number;
  startedAt: Date;
  finishedAt: Date;
  /** The time of the target's work; from the claim on where its start is not known. */
  durationMs: number;
  claimedAt: Date;
  targetStartedAt: Date | null;
  targetEndedAt: Date | null;
  settledAt: Date | null;
  outcome: string;
  error: string | null;
  /** For a failed attempt: the group of its error. */
  errorGroup: string | null;
  errorClass: string | null;
  stack: string | null;
}

/** The parcel in which a job waits or is worked. */
export interface CurrentTimes extends ParcelTimes {
  claimedAt: Date | null;
}

type AttemptRow = Omit<AttemptRead, "durationMs" | "claimedAt" | "targetStartedAt" | "targetEndedAt"> & {
  targetMs: number | null;
  parcelId: string | null;
};

/** A job's own row, for the one attempt of a job that succeeded at once. */
interface OwnRow {
  state: string;
  attempt: number;
  startedAt: Date | null;
  finishedAt: Date | null;
  parcelId: string | null;
  targetMs: number | null;
}

/**
 * The attempts of a job. A job that succeeded at the first try has no rows of attempts: its one
 * attempt is made from the job's own row.
 */
export async function attemptsOf(tx: Tx, key: JobKey, job: OwnRow): Promise<AttemptRead[]> {
  const recorded = await tx<AttemptRow[]>`
    select a.attempt, a.started_at as "startedAt", a.finished_at as "finishedAt", a.outcome, a.error, a.error_class as "errorClass", a.stack, a.error_group as "errorGroup",
      a.target_ms as "targetMs", a.parcel_id as "parcelId", ${timesColumns(tx)}
    from carillon.attempts a ${withTimes(tx, key, tx`a.parcel_id`, tx`a.started_at`)}
    where a.occurrence = ${key.occurrence} and a.schedule_id = ${key.scheduleId} and a.kind = ${key.kind} and a.n = ${key.n}
    order by a.attempt`;
  const { state, startedAt, finishedAt, attempt, parcelId, targetMs } = job;
  if (recorded.length > 0 || state !== "succeeded" || startedAt === null || finishedAt === null)
    return recorded.map(attemptRead);
  const [times] = await tx<(ParcelTimes & { settledAt: Date | null })[]>`
    select ${timesColumns(tx)}
    from (select) one ${withTimes(tx, key, tx`${parcelId}::bigint`, tx`${startedAt}::timestamptz`)}`;
  if (times === undefined) throw new Error("A left join to one row returned none.");
  const outcome = { outcome: "succeeded", error: null, errorGroup: null, errorClass: null, stack: null };
  return [attemptRead({ attempt, startedAt, finishedAt, ...outcome, parcelId, targetMs, ...times })];
}

const timesColumns = (tx: Tx) => tx`
  t.made_at as "plannedAt", t.sent_at as "sentAt", t.waited_at as "waitedSince", t.settled_at as "settledAt", t.queue, g.name as target`;

type Fragment = postgres.PendingQuery<postgres.Row[]>;

/** Reads one day of parcels: the day of the job. A lease that ended in parts has left several rows. */
function withTimes(tx: Tx, { occurrence }: JobKey, parcelId: Fragment, claimedAt: Fragment) {
  const day = Math.floor(occurrence.getTime() / MS_PER_DAY) * MS_PER_DAY;
  return tx`
    left join lateral (
      select t.* from carillon.parcel_times t
      where t.occurrence >= ${new Date(day)} and t.occurrence < ${new Date(day + MS_PER_DAY)}
        and t.queue = any(enum_range(null::carillon.queue_class)) and t.claimed_at = ${claimedAt} and t.parcel_id = ${parcelId}
      order by t.settled_at limit 1) t on true
    left join carillon.targets g on g.id = t.target_id`;
}

function attemptRead({ targetMs, parcelId, ...row }: AttemptRow): AttemptRead {
  const { startedAt, finishedAt, outcome } = row;
  const began = new Date(startedAt.getTime() + (targetMs ?? 0));
  const isKnown = parcelId !== null && outcome !== "crashed";
  return {
    ...row,
    durationMs: finishedAt.getTime() - began.getTime(),
    claimedAt: startedAt,
    targetStartedAt: isKnown ? began : null,
    targetEndedAt: isKnown ? finishedAt : null,
  };
}

/** The attempts of a job, and the parcel in which it waits or is worked. */
export interface JobTimes {
  attempts: AttemptRead[];
  /** Null once the job has ended. */
  current: CurrentTimes | null;
}

/** As `attemptsOf`, for many jobs with two statements, by the job's id. Stacks are left out. */
export async function timesOfMany(tx: Tx, jobs: readonly JobKey[]): Promise<Map<string, JobTimes>> {
  const found = new Map(jobs.map((job): [string, JobTimes] => [jobId(job), { attempts: [], current: null }]));
  const rows = await tx<(AttemptRow & JobKey)[]>`
    select j.schedule_id as "scheduleId", j.occurrence, j.kind, j.n, a.attempt, a.started_at as "startedAt", a.finished_at as "finishedAt",
      a.outcome, a.error, a.error_class as "errorClass", null as stack, a.error_group as "errorGroup", a.target_ms as "targetMs",
      a.parcel_id as "parcelId", ${timesColumns(tx)}
    from ${sought(tx, jobs)}
    cross join lateral (
      select a.attempt, a.started_at, a.finished_at, a.outcome, a.error, a.error_class, a.error_group, a.target_ms, a.parcel_id
      from carillon.attempts a
      where a.occurrence = j.occurrence and a.schedule_id = j.schedule_id and a.kind = j.kind and a.n = j.n
      union all
      select j.attempt, j.started_at, j.finished_at, 'succeeded', null, null, null, j.target_ms, j.parcel_id
      where j.state = 'succeeded' and j.started_at is not null and not exists (
        select from carillon.attempts a
        where a.occurrence = j.occurrence and a.schedule_id = j.schedule_id and a.kind = j.kind and a.n = j.n)) a
    left join lateral (
      select t.* from carillon.parcel_times t
      where t.occurrence >= date_bin('1 day', j.occurrence, 'epoch') and t.occurrence < date_bin('1 day', j.occurrence, 'epoch') + interval '24 hours'
        and t.queue = any(enum_range(null::carillon.queue_class)) and t.claimed_at = a.started_at and t.parcel_id = a.parcel_id
      order by t.settled_at limit 1) t on true
    left join carillon.targets g on g.id = t.target_id
    order by a.attempt`;
  for (const { scheduleId, occurrence, kind, n, ...row } of rows)
    found.get(jobId({ scheduleId, occurrence, kind, n }))?.attempts.push(attemptRead(row));
  const open = await tx<(CurrentTimes & JobKey)[]>`
    select j.schedule_id as "scheduleId", j.occurrence, j.kind, j.n, p.made_at as "plannedAt", p.sent_at as "sentAt", p.waited_at as "waitedSince",
      p.claimed_at as "claimedAt", p.queue, g.name as target
    from ${sought(tx, jobs)} join carillon.parcels p on p.id = j.parcel_id and j.state = 'waiting' left join carillon.targets g on g.id = p.target_id`;
  for (const { scheduleId, occurrence, kind, n, ...current } of open) {
    const times = found.get(jobId({ scheduleId, occurrence, kind, n }));
    if (times !== undefined) times.current = current;
  }
  return found;
}

/** SQL: the jobs with these keys, each looked up by its primary key. */
const sought = (tx: Tx, jobs: readonly JobKey[]) => tx`
  unnest(${tx.array(jobs.map(({ occurrence }) => occurrence))}::timestamptz[], ${jobs.map(({ scheduleId }) => scheduleId)}::bigint[],
    ${jobs.map(({ kind }) => kind)}::text[]::carillon.job_kind[], ${jobs.map(({ n }) => n)}::int[]) k (occurrence, schedule_id, kind, n)
  cross join lateral (
    select * from carillon.jobs j
    where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = k.kind and j.n = k.n offset 0) j`;
