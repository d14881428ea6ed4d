import type postgres from "postgres";
import type { Tx } from "../db/connect.ts";
import { keptPlan } from "../db/statement.ts";
import type { Json } from "../schedule/shape/json.ts";
import { type JobKey, type JobKind, jobId, parseJobId } from "./job-id.ts";
import { byPlace, type JobPlace } from "./job-place.ts";
import { type AttemptRead, attemptsOf, type CurrentTimes } from "./read-attempts.ts";

export const jobStates = [
  "waiting",
  "running",
  "retrying",
  "succeeded",
  "skipped",
  "dead",
  "cancelled",
] as const;

export type JobState = (typeof jobStates)[number];

/**
 * The reason why an open job has not started: its time (also that of its next attempt), a hold, an
 * earlier occurrence of its schedule (`overlap`), another job of its group, its turn at the target,
 * or a worker that claims it. Null if it runs or is settled.
 */
export type WaitsFor = "time" | "hold" | "overlap" | "group" | "target" | "worker" | null;

/**
 * A job as callers read it. The states `running` and `retrying` come from its parcel and its
 * attempts.
 */
export interface JobRead {
  id: string;
  kind: JobKind;
  n: number;
  key: string;
  scheduleId: string;
  version: number;
  group: string | null;
  occurrence: Date;
  dueAt: Date;
  state: JobState;
  reason: string | null;
  attempt: number;
  /** For a recheck: the number of rechecks, with this one. */
  checks: number;
  waitsFor: WaitsFor;
  readyAt: Date | null;
  startedAt: Date | null;
  finishedAt: Date | null;
  latenessMs: number | null;
  /**
   * How long its last attempt took at its target, without waits before it. Each attempt has its own
   * duration.
   */
  durationMs: number | null;
  /** A cancel was requested, and the worker has not stopped the job yet. */
  cancelling: boolean;
  error: string | null;
  /** The group of the error of its last failed attempt; null once it has succeeded. */
  errorGroup: string | null;
  /** For a recheck: the job that requested the first one. */
  recheckOf: string | null;
  payload?: Json;
  attempts?: AttemptRead[];
  /** The attempt that waits or is under way; null once the job has ended. */
  current?: CurrentTimes | null;
}

type JobRow = Omit<
  JobRead,
  "id" | "latenessMs" | "durationMs" | "recheckOf" | "payload" | "attempts" | "current"
> & {
  targetMs: number | null;
  lastAttemptMs: number | null;
  rootOccurrence: Date | null;
  rootKind: JobKind | null;
  rootN: number | null;
};

/** The key of a job; without kind and number, of a job of the cadence. */
type SoughtJob = Pick<JobKey, "scheduleId" | "occurrence"> & Partial<Pick<JobKey, "kind" | "n">>;

/** The existing jobs with these keys, each found by its primary key. */
export async function readJobsAt(tx: Tx, keys: readonly SoughtJob[]): Promise<JobRead[]> {
  if (keys.length === 0) return [];
  const rows = await keptPlan(tx<JobRow[]>`
    select ${jobColumns(tx)}
    from unnest(${tx.array(keys.map((key) => key.occurrence))}::timestamptz[], ${keys.map((key) => key.scheduleId)}::bigint[],
      ${keys.map(({ kind = "cadence" }) => kind)}::text[]::carillon.job_kind[], ${keys.map(({ n = 0 }) => n)}::int[])
      k (occurrence, schedule_id, kind, n)
    cross join lateral (
      select * from carillon.jobs j
      where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = k.kind and j.n = k.n offset 0) j
    join carillon.schedules s on s.id = j.schedule_id
    left join carillon.parcels p on p.id = j.parcel_id`);
  return rows.map(jobRead);
}

export interface BesideSearch {
  scheduleId: string;
  /** The oldest occurrence to read; null for no limit. */
  from: number | null;
  /** The job after which the page begins; null to begin with the newest. */
  before: JobPlace | null;
  limit: number;
  /** Leaves out jobs that simply wait. */
  started: boolean;
}

/** The most jobs that a search for started ones reads, waiting ones among them. */
const waitingMax = 1_000;

/** Near the end of the year 9999. */
const lastInstant = 253_402_300_000_000;

/**
 * The newest jobs of other kinds than `cadence`. Most schedules have none, and a read of a narrow
 * table finds that out.
 */
export async function readJobsBeside(
  tx: Tx,
  { scheduleId, from, before, limit, started }: BesideSearch,
): Promise<JobRead[]> {
  const keys = await keptPlan(tx<JobKey[]>`
    select schedule_id as "scheduleId", occurrence, kind, n from carillon.jobs_beside
    where schedule_id = ${scheduleId} ${from === null ? tx`` : tx`and occurrence >= ${new Date(from)}`} ${endingBefore(tx, before)}
    order by occurrence desc, kind desc, n desc limit ${started ? waitingMax : limit}`);
  const jobs = await readJobsAt(tx, keys);
  return jobs
    .filter(({ state }) => !started || state !== "waiting")
    .sort(byPlace)
    .slice(0, limit);
}

function endingBefore(tx: Tx, before: JobPlace | null) {
  if (before === null) return tx``;
  // Nothing is planned outside of these years, and Postgres reads others differently.
  const at = new Date(Math.min(Math.max(before.at, 0), lastInstant));
  if (before.kind === null) return tx`and occurrence < ${at}`;
  return tx`and (occurrence, kind, n) < (${at}, ${before.kind}::carillon.job_kind, ${before.n}::int)`;
}

/** One job with its payload and its attempts. */
export async function readJob(tx: Tx, id: string): Promise<JobRead | null> {
  const key = parseJobId(id);
  if (key === null) return null;
  const [row] = await tx<
    (JobRow & { payload: Json; parcelId: string | null; current: StoredTimes | null })[]
  >`
    select ${jobColumns(tx)}, coalesce(j.payload, spec.payload) as payload, j.parcel_id as "parcelId",
      case when j.state = 'waiting' and p.id is not null then jsonb_build_object('plannedAt', ${ms(tx, tx`p.made_at`)}, 'sentAt', ${ms(tx, tx`p.sent_at`)},
        'waitedSince', ${ms(tx, tx`p.waited_at`)}, 'claimedAt', ${ms(tx, tx`p.claimed_at`)}, 'queue', p.queue, 'target', g.name) end as current
    from carillon.jobs j
    join carillon.schedules s on s.id = j.schedule_id
    left join carillon.schedule_versions v on v.schedule_id = j.schedule_id and v.version = j.version
    left join carillon.schedule_versions spec on spec.schedule_id = v.schedule_id and spec.version = v.spec_version
    left join carillon.parcels p on p.id = j.parcel_id
    left join carillon.targets g on g.id = p.target_id
    where j.occurrence = ${key.occurrence} and j.schedule_id = ${key.scheduleId} and j.kind = ${key.kind} and j.n = ${key.n}`;
  if (row === undefined) return null;
  const { payload, parcelId, current, ...rest } = row;
  const job = jobRead(rest);
  const attempts = await attemptsOf(tx, key, { ...job, parcelId, targetMs: rest.targetMs });
  return { ...job, payload, attempts, current: current === null ? null : currentTimes(current) };
}

type StoredTimes = {
  [Name in keyof CurrentTimes]: CurrentTimes[Name] extends Date | null ? number | null : CurrentTimes[Name];
};

/** In milliseconds since 1970. */
const ms = (tx: Tx, instant: postgres.PendingQuery<postgres.Row[]>) =>
  tx`date_part('epoch', ${instant}) * 1000`;

function currentTimes({ plannedAt, sentAt, waitedSince, claimedAt, ...where }: StoredTimes): CurrentTimes {
  const instant = (at: number | null) => (at === null ? null : new Date(Math.round(at)));
  return {
    plannedAt: instant(plannedAt),
    sentAt: instant(sentAt),
    waitedSince: instant(waitedSince),
    claimedAt: instant(claimedAt),
    ...where,
  };
}

/** SQL: whether a job `j` is a recheck of a version that a later request has replaced. */
const isSuperseded = (tx: Tx) => tx`(j.kind = 'again' and coalesce(s.fresh_version, 1) > j.version)`;

/**
 * The state of a job `j` of a schedule `s` in a parcel `p`, as callers read it. A waiting job whose
 * schedule is deleted, or that is superseded, is shown as cancelled: its claim will record that.
 */
export const stateOfJob = (tx: Tx) => tx`
  case when j.state <> 'waiting' then j.state::text when p.lease_until >= (select carillon.clock()) then 'running'
    when s.deleted_at is not null or ${isSuperseded(tx)} then 'cancelled' when j.attempt > 0 then 'retrying' else 'waiting' end`;

export const reasonOfJob = (tx: Tx) => tx`
  case when j.state = 'waiting' and s.deleted_at is not null then 'deleted'
    when j.state = 'waiting' and ${isSuperseded(tx)} and coalesce(p.lease_until < (select carillon.clock()), true) then 'superseded' else j.reason end`;

/**
 * The error group of a job `j`: that of its last failed attempt. Only a job with an error pays for
 * the lookup.
 */
export const errorGroupOfJob = (tx: Tx) => tx`
  case when j.error is not null then (
    select a.error_group from carillon.attempts a
    where a.occurrence = j.occurrence and a.schedule_id = j.schedule_id and a.kind = j.kind and a.n = j.n and a.error_group is not null
    order by a.occurrence desc, a.schedule_id desc, a.kind desc, a.n desc, a.attempt desc limit 1) end`;

/**
 * How long the last attempt of a job `j` took at its target. A job that succeeded at once has no rows
 * of attempts, and pays for no lookup: it took from its start to its end.
 */
const lastAttemptMs = (tx: Tx) => tx`
  case when j.finished_at is not null and (j.state <> 'succeeded' or j.attempt > 1) then (
    select round(date_part('epoch', date_trunc('milliseconds', a.finished_at) - date_trunc('milliseconds', a.started_at)) * 1000) - coalesce(a.target_ms, 0)
    from carillon.attempts a
    where a.occurrence = j.occurrence and a.schedule_id = j.schedule_id and a.kind = j.kind and a.n = j.n
    order by a.occurrence desc, a.schedule_id desc, a.kind desc, a.n desc, a.attempt desc limit 1) end`;

/** SQL: what a job `j` of a schedule `s` in a parcel `p` waits for. */
const waitsForOfJob = (tx: Tx) => tx`
  case when j.state <> 'waiting' or p.id is null or p.lease_until >= carillon.clock() or s.deleted_at is not null or ${isSuperseded(tx)} then null
    when (p.held_schedule is not null and p.ready_at > carillon.clock()) or (j.kind <> 'manual' and s.held_since is not null
      and coalesce(s.held_until, 'infinity') > greatest(carillon.clock(), coalesce(j.ready_at, j.due_at))) then 'hold'
    when p.lane like 'schedule/%' then 'overlap' when p.lane is not null then 'group' when p.turn = 'waits' then 'target'
    when coalesce(j.ready_at, j.due_at) > carillon.clock() then 'time'
    when p.ready_at > carillon.clock() then case when p.turn_at is null then 'time' else 'target' end else 'worker' end`;

const jobColumns = (tx: Tx) => tx`
  j.kind, s.key, j.schedule_id as "scheduleId", j.version, s.group_key as group, j.occurrence, j.due_at as "dueAt", j.attempt, j.n,
  coalesce(j.checks, 0) as checks, (j.cancel_asked and j.state = 'waiting') is true as cancelling,
  j.root_occurrence as "rootOccurrence", j.root_kind as "rootKind", j.root_n as "rootN",
  ${stateOfJob(tx)} as state, ${reasonOfJob(tx)} as reason, ${waitsForOfJob(tx)} as "waitsFor",
  case when j.state = 'waiting'
      and (s.held_since is null or s.held_until <= greatest(carillon.clock(), coalesce(j.ready_at, j.due_at)) or j.kind = 'manual')
      and s.deleted_at is null and not ${isSuperseded(tx)} and p.lane is null and coalesce(j.ready_at, j.due_at) < 'infinity'
      and (p.turn is distinct from 'waits' or j.due_at > carillon.clock())
    then greatest(coalesce(j.ready_at, j.due_at), case when p.turn_at is not null and p.ready_at < 'infinity' then p.ready_at end) end as "readyAt",
  coalesce(j.started_at, case when p.lease_until >= carillon.clock() then p.claimed_at end) as "startedAt",
  j.finished_at as "finishedAt", j.target_ms as "targetMs", ${lastAttemptMs(tx)} as "lastAttemptMs", j.error, ${errorGroupOfJob(tx)} as "errorGroup"`;

function jobRead({ rootOccurrence, rootKind, rootN, targetMs, lastAttemptMs, ...row }: JobRow): JobRead {
  const { scheduleId, occurrence, kind, n, startedAt, finishedAt, dueAt } = row;
  const isRecheck = rootOccurrence !== null && rootKind !== null && rootN !== null;
  return {
    ...row,
    id: jobId({ scheduleId, occurrence, kind, n }),
    latenessMs: startedAt === null ? null : startedAt.getTime() - dueAt.getTime(),
    durationMs:
      startedAt === null || finishedAt === null
        ? null
        : (lastAttemptMs ?? finishedAt.getTime() - startedAt.getTime() - (targetMs ?? 0)),
    recheckOf: isRecheck ? jobId({ scheduleId, occurrence: rootOccurrence, kind: rootKind, n: rootN }) : null,
  };
}
