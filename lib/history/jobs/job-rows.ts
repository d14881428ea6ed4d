import { byIndex } from "../../db/by-index.ts";
import type { Sql, Tx } from "../../db/connect.ts";
import type { JobKey } from "../../job/job-id.ts";
import { errorGroupOfJob, type JobState, reasonOfJob, stateOfJob } from "../../job/read-job.ts";
import { isOwner, type JobOwners } from "../find-schedules.ts";
import { isLateBy } from "../looked-dead.ts";
import type { HistoryTimes } from "../search-history.ts";

export interface JobFilter extends Omit<JobOwners, "key">, HistoryTimes {
  state?: Exclude<JobState, "dead"> | undefined;
}

/**
 * Largest number of schedules that are listed by their ids. Jobs of other schedules are then left
 * out without looking their schedules up.
 */
export const listedMax = 5_000;

/** Largest number of schedules whose histories are merged. */
const mergedMax = 20;

/** Whether the jobs of these schedules are found by their histories. */
export const isMerged = (ids: readonly string[] | null): ids is readonly string[] =>
  ids !== null && ids.length <= mergedMax;

export const hasOwner = ({ prefix, group, tag, target }: Omit<JobOwners, "key">) =>
  [prefix, group, tag, target].some((owner) => owner !== undefined);

export const isOpen = (state: JobFilter["state"]) =>
  state === "waiting" || state === "running" || state === "retrying";

/**
 * Open jobs are sorted if they are at most this many; if more are open, a walk through all jobs
 * meets enough of them.
 */
const openMax = { jobs: 20_000, parcels: 5_000 };

/** The parcels with all open jobs; null if they are too many. */
export async function openFew(tx: Tx): Promise<string[] | null> {
  const parcels = await tx<{ id: string; jobs: number }[]>`
    select id, cardinality(occurrences) as jobs from carillon.parcels where pulse_at is null order by id limit ${openMax.parcels + 1}`;
  const jobs = parcels.reduce((sum, parcel) => sum + parcel.jobs, 0);
  return parcels.length > openMax.parcels || jobs > openMax.jobs ? null : parcels.map(({ id }) => id);
}

export interface Rows {
  filter: JobFilter;
  /** The schedules that match; null if they are not listed. */
  ids: readonly string[] | null;
  /** SQL: the jobs that are checked. */
  rows: (tx: Tx) => ReturnType<typeof walked>;
}

/** SQL: the jobs `j` that match, each with its schedule `s` and its parcel `p`, newest first. */
export function matchingRows(tx: Tx, { filter, ids, rows }: Rows) {
  return tx`(
      ${rows(tx)} and ${mayBeIn(tx, filter)} ${ids === null ? tx`` : tx`and j.schedule_id = any(${[...ids]}::bigint[])`}
      order by j.occurrence desc, j.schedule_id desc, j.kind desc, j.n desc offset 0) j
    cross join lateral (select * from carillon.schedules s where s.id = j.schedule_id offset 0) s
    left join lateral (select p.lease_until from carillon.parcels p where p.id = j.parcel_id offset 0) p on true
    where ${isOwner(tx, filter)} ${isIn(tx, filter)}`;
}

/** The last of the next jobs, of any schedule and state, that one statement checks. Null if these are all. */
export async function stopAfter(
  sql: Sql,
  filter: JobFilter,
  before: JobKey | undefined,
  most: number,
): Promise<JobKey | null> {
  const [stop = null] = await byIndex(
    sql,
    (tx) => tx<JobKey[]>`
    select j.occurrence, j.schedule_id as "scheduleId", j.kind, j.n from carillon.jobs j where true ${within(tx, filter, before)}
    order by j.occurrence desc, j.schedule_id desc, j.kind desc, j.n desc offset ${most - 1}::int limit 1`,
  );
  return stop;
}

const columns = (tx: Tx) =>
  tx`j.occurrence, j.schedule_id, j.kind, j.n, j.state, j.reason, j.attempt, j.version, j.parcel_id, j.error, j.due_at, j.started_at`;

export function walked(tx: Tx, filter: JobFilter, before: JobKey | undefined, stop: JobKey | null) {
  return tx`
    select ${columns(tx)} from carillon.jobs j where true ${within(tx, filter, before)}
    ${
      stop === null
        ? tx``
        : tx`and j.occurrence >= ${stop.occurrence} and (j.occurrence, j.schedule_id, j.kind, j.n)
          >= (${stop.occurrence}::timestamptz, ${stop.scheduleId}::bigint, ${stop.kind}::carillon.job_kind, ${stop.n}::int)`
    }`;
}

export function fromParcels(tx: Tx, filter: JobFilter, before: JobKey | undefined, ids: readonly string[]) {
  return tx`
    select ${columns(tx)}
    from carillon.parcels p
    cross join lateral unnest(p.occurrences, p.schedule_ids, p.kinds, p.ns) k (occurrence, schedule_id, kind, n)
    cross join lateral (
      select * from carillon.jobs j
      where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0)
        and j.state = 'waiting' and j.parcel_id = p.id offset 0) j
    where p.id = any(${[...ids]}::bigint[]) ${within(tx, filter, before)}`;
}

/** A bound by occurrence alone lets Postgres skip partitions. */
function within(tx: Tx, { from, to }: JobFilter, before: JobKey | undefined) {
  return tx`
    ${from === undefined ? tx`` : tx`and j.occurrence >= ${from}`}
    ${to === undefined ? tx`` : tx`and j.occurrence < ${to}`}
    ${
      before === undefined
        ? tx``
        : tx`and j.occurrence <= ${before.occurrence} and (j.occurrence, j.schedule_id, j.kind, j.n)
          < (${before.occurrence}::timestamptz, ${before.scheduleId}::bigint, ${before.kind}::carillon.job_kind, ${before.n}::int)`
    }`;
}

/**
 * A condition on a job's own row that every matching job meets. Most jobs do not, and their schedules
 * and parcels are then not looked up.
 */
function mayBeIn(tx: Tx, { state, reason, errorGroup }: JobFilter) {
  const stored = state === undefined ? [] : isOpen(state) ? ["waiting"] : [state, "waiting"];
  return tx`
    ${state === undefined ? tx`true` : tx`j.state = any(${stored}::text[]::carillon.job_state[])`}
    ${reason === undefined ? tx`` : tx`and (j.reason = ${reason} or j.state = 'waiting')`}
    ${errorGroup === undefined ? tx`` : tx`and j.error is not null`}`;
}

function isIn(tx: Tx, { state, reason, errorGroup, lateBy }: JobFilter) {
  return tx`
    ${state === undefined ? tx`` : tx`and ${stateOfJob(tx)} = ${state}`}
    ${reason === undefined ? tx`` : tx`and ${reasonOfJob(tx)} = ${reason}`}
    ${errorGroup === undefined ? tx`` : tx`and ${errorGroupOfJob(tx)} = any(${[...errorGroup]}::text[])`}
    ${lateBy === undefined ? tx`` : tx`and ${isLateBy(tx, lateBy)}`}`;
}
