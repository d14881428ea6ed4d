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

/** The most requests of one job that are read, newest first. */
const requestsMax = 20;

/** The last requests to cancel and to retry each of these jobs, by the job's id. */
export async function jobRequestsOf(tx: Tx, jobs: readonly JobRead[]): Promise<Map<string, JobRequests>> {
  const rows = await tx<(JobRequest & { action: string; id: string })[]>`
    select k.id, a.action, a.actor as by, a.at, a.detail ->> 'reason' as reason
    from unnest(${jobs.map(({ id }) => id)}::text[], ${jobs.map(({ scheduleId }) => scheduleId)}::bigint[], ${tx.array(jobs.map(({ occurrence }) => occurrence))}::timestamptz[],
      ${jobs.map(({ kind }) => kind)}::text[]::carillon.job_kind[], ${jobs.map(({ n }) => n)}::int[]) k (id, schedule_id, occurrence, kind, n)
    cross join lateral (
      select r.at, r.audit_id from carillon.job_requests r
      where r.occurrence = k.occurrence and r.schedule_id = k.schedule_id and r.kind = k.kind and r.n = k.n
      order by r.occurrence desc, r.schedule_id desc, r.kind desc, r.n desc, r.at desc, r.audit_id desc limit ${requestsMax}) r
    cross join lateral (select * from carillon.audit a where a.at = r.at and a.id = r.audit_id offset 0) a
    order by r.at desc, r.audit_id desc`;
  const found = Map.groupBy(rows, ({ id }) => id);
  return new Map(jobs.map((job) => [job.id, requestsIn(job, found.get(job.id) ?? [])]));
}

function requestsIn(job: JobRead, rows: readonly (JobRequest & { action: string })[]): JobRequests {
  const lastOf = (action: string) => {
    const { by, at, reason } = rows.find((row) => row.action === action) ?? {};
    return by === undefined || at === undefined ? null : { by, at, reason: reason ?? null };
  };
  const isCancelled = job.cancelling || (job.state === "cancelled" && job.reason === "requested");
  return { cancelled: isCancelled ? lastOf("jobs.cancelled") : null, retried: lastOf("jobs.retried") };
}

/** For example ``retried by token `ann` at … ("…")``. */
export function requestText({ by, at, reason }: JobRequest, did: string): string {
  return `${did} by ${actorText(by)} at ${isoInstant(at.getTime())}${reason === null || reason === "" ? "" : ` ("${reason}")`}`;
}
