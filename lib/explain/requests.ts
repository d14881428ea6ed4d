import { isoInstant } from "../cadence/zone/civil.ts";
import type { Tx } from "../db/connect.ts";
import type { JobRead } from "../job/read-job.ts";

/** A caller's request to cancel or retry a job. */
export interface JobRequest {
  by: string;
  at: Date;
  reason: string | null;
}

export interface JobRequests {
  cancelled: JobRequest | null;
  retried: JobRequest | null;
}

export const noJobRequests: JobRequests = { cancelled: null, retried: null };

/**
 * How long after the end of a job the audit entry of its cancel may be dated: it is written just
 * after the job. For a running job it is dated before the end.
 */
const noteMs = 5_000;

/**
 * The last requests to cancel and to retry each of these jobs, by the job's id. A request for many
 * jobs is one entry per schedule.
 */
export async function jobRequestsOf(tx: Tx, jobs: readonly JobRead[]): Promise<Map<string, JobRequests>> {
  const isCancelled = ({ cancelling, state, reason }: JobRead) =>
    cancelling || (state === "cancelled" && reason === "requested");
  const rows = await tx<(JobRequest & { action: string; id: string })[]>`
    select k.id, a.action, a.actor as by, a.at, a.detail ->> 'reason' as reason
    from unnest(${jobs.map(({ id }) => id)}::text[], ${jobs.map(({ scheduleId }) => scheduleId)}::bigint[], ${tx.array(jobs.map(({ occurrence }) => occurrence))}::timestamptz[],
      ${jobs.map(({ kind }) => kind)}::text[]::carillon.job_kind[], ${jobs.map(({ n }) => n)}::int[],
      ${jobs.map(({ finishedAt }) => finishedAt?.toISOString() ?? null)}::text[]::timestamptz[], ${jobs.map(isCancelled)}::boolean[])
      k (id, schedule_id, occurrence, kind, n, finished_at, cancelled)
    cross join lateral (values ('jobs.cancelled', k.cancelled), ('jobs.retried', exists (
      select from carillon.jobs j
      where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = k.kind and j.n = k.n and j.forgiven is not null))) w (action, sought)
    cross join lateral (
      select * from carillon.audit a
      where w.sought and a.schedule_id = k.schedule_id and a.action in ('jobs.cancelled', 'jobs.retried') and a.action = w.action
        and a.at <= coalesce(k.finished_at, carillon.clock()) + ${noteMs} * interval '1 millisecond'
        and coalesce(a.detail ->> 'job', k.id) = k.id
      order by a.at desc, a.id desc limit 1) a`;
  const found = Map.groupBy(rows, ({ id }) => id);
  return new Map(jobs.map(({ id }) => [id, requestsIn(found.get(id) ?? [])]));
}

function requestsIn(rows: readonly (JobRequest & { action: string })[]): JobRequests {
  const lastOf = (action: string) => {
    const { by, at, reason } = rows.find((row) => row.action === action) ?? {};
    return by === undefined || at === undefined ? null : { by, at, reason: reason ?? null };
  };
  return { cancelled: lastOf("jobs.cancelled"), retried: lastOf("jobs.retried") };
}

/** For example `ann requested it at … ("…")`. */
export function requestText({ by, at, reason }: JobRequest, what: string): string {
  return `${by} ${what} at ${isoInstant(at.getTime())}${reason === null || reason === "" ? "" : ` ("${reason}")`}`;
}
