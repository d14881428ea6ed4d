import { isoInstant } from "../cadence/zone/civil.ts";
import type { Tx } from "../db/connect.ts";
import type { JobRead } from "../job/read-job.ts";
import { actorText } from "./actor.ts";

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
 * The last requests to cancel and to retry a job. A request for many jobs is one entry per
 * schedule.
 */
export async function jobRequestsOf(tx: Tx, job: JobRead): Promise<JobRequests> {
  const { id, scheduleId, occurrence, kind, n, finishedAt } = job;
  const isCancelled = job.cancelling || (job.state === "cancelled" && job.reason === "requested");
  const rows = await tx<(JobRequest & { action: string })[]>`
    select a.action, a.actor as by, a.at, a.detail ->> 'reason' as reason
    from (values ('jobs.cancelled', ${isCancelled}::boolean), ('jobs.retried', exists (
      select from carillon.jobs
      where occurrence = ${occurrence} and schedule_id = ${scheduleId} and kind = ${kind} and n = ${n} and forgiven is not null))) w (action, sought)
    cross join lateral (
      select * from carillon.audit a
      where w.sought and a.schedule_id = ${scheduleId} and a.action in ('jobs.cancelled', 'jobs.retried') and a.action = w.action
        and a.at <= coalesce(${finishedAt}::timestamptz, carillon.clock()) + ${noteMs} * interval '1 millisecond'
        and coalesce(a.detail ->> 'job', ${id}) = ${id}
      order by a.at desc, a.id desc limit 1) a`;
  const lastOf = (action: string) => {
    const { by, at, reason } = rows.find((row) => row.action === action) ?? {};
    return by === undefined || at === undefined ? null : { by, at, reason: reason ?? null };
  };
  return { cancelled: lastOf("jobs.cancelled"), retried: lastOf("jobs.retried") };
}

/** For example ``retried by token `ann` at … ("…")``. */
export function requestText({ by, at, reason }: JobRequest, did: string): string {
  return `${did} by ${actorText(by)} at ${isoInstant(at.getTime())}${reason === null || reason === "" ? "" : ` ("${reason}")`}`;
}
