import type postgres from "postgres";
import type { Sql } from "../db/connect.ts";
import { type JobKey, jobId } from "../job/job-id.ts";

/** A job as a line of the archive, with its attempts. Instants become ISO text in UTC. */
export interface ArchivedJob extends JobKey {
  key: string | null;
  group: string | null;
  target: string | null;
  version: number;
  state: string;
  reason: string | null;
  attempt: number;
  dueAt: Date;
  startedAt: Date | null;
  finishedAt: Date | null;
  error: string | null;
  /** The job's own payload, in place of the schedule's; nearly all jobs have none. */
  payload: unknown;
  attempts: ArchivedAttempt[];
}

interface ArchivedAttempt {
  attempt: number;
  startedAt: string;
  finishedAt: string;
  outcome: string;
  error: string | null;
}

export interface PageBounds {
  jobs: number;
  /** The page ends behind the job that reaches this size, so it has at least one job. */
  bytes: number;
}

const dayMs = 86_400_000;

/**
 * The next jobs of a day in the order of their primary key, which is also the cursor. Attempts are
 * read only for jobs that did not succeed at the first attempt. The key is null if the schedule has
 * been purged. The database measures the texts of callers and sends no more than the page takes.
 * The bounds of the day are plain instants, so that the statement plans for, and locks, the tables
 * of that day alone: a locked table of one day does not keep other days from being read.
 */
export function readDay(
  sql: Sql,
  day: string,
  after: JobKey | null,
  bounds: PageBounds,
): PromiseLike<ArchivedJob[]> {
  const from = new Date(`${day}T00:00:00Z`);
  const within = (occurrence: postgres.PendingQuery<postgres.Row[]>) =>
    sql`${occurrence} >= ${from} and ${occurrence} < ${new Date(from.getTime() + dayMs)}`;
  return sql<ArchivedJob[]>`
    select j.occurrence, j.schedule_id as "scheduleId", j.kind, j.n, s.key, s.group_key as "group", t.name as target, j.version, j.state, j.reason,
      j.attempt, j.due_at as "dueAt", j.started_at as "startedAt", j.finished_at as "finishedAt", j.error, j.payload,
      case when j.state <> 'succeeded' or j.attempt > 1 then (
        select coalesce(json_agg(json_build_object('attempt', a.attempt,
          'startedAt', to_char(a.started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
          'finishedAt', to_char(a.finished_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
          'outcome', a.outcome, 'error', a.error) order by a.attempt), '[]')
        from carillon.attempts a
        where ${within(sql`a.occurrence`)} and a.occurrence = j.occurrence and a.schedule_id = j.schedule_id and a.kind = j.kind and a.n = j.n) else '[]'::json end as attempts
    from (select m.*, sum(m.bytes) over (order by m.occurrence, m.schedule_id, m.kind, m.n) - m.bytes as bytes_before from (
      select *, coalesce(octet_length(payload::text), 0) + coalesce(octet_length(error), 0) + case when state <> 'succeeded' or attempt > 1 then (
        select coalesce(sum(octet_length(a.error)), 0) from carillon.attempts a
        where ${within(sql`a.occurrence`)} and a.occurrence = o.occurrence and a.schedule_id = o.schedule_id and a.kind = o.kind and a.n = o.n) else 0 end as bytes
      from carillon.jobs o
      where ${within(sql`occurrence`)}
        and (${after === null} or (occurrence, schedule_id, kind, n) > (${after?.occurrence ?? null}::timestamptz, ${after?.scheduleId ?? null}::bigint,
          ${after?.kind ?? null}::carillon.job_kind, ${after?.n ?? null}::int))
      order by occurrence, schedule_id, kind, n limit ${bounds.jobs}) m) j
    left join carillon.schedules s on s.id = j.schedule_id
    left join carillon.targets t on t.id = s.target_id
    where j.bytes_before < ${bounds.bytes}
    order by j.occurrence, j.schedule_id, j.kind, j.n`;
}

export function lineOf({ occurrence, scheduleId, kind, n, attempts, payload, ...rest }: ArchivedJob): string {
  const id = jobId({ occurrence, scheduleId, kind, n });
  return `${JSON.stringify({ id, scheduleId, occurrence, kind, n, ...rest, payload, attempts })}\n`;
}
