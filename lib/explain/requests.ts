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

/** The last requests to cancel and to retry a job. */
export async function jobRequestsOf(tx: Tx, job: JobRead): Promise<JobRequests> {
  const { scheduleId, occurrence, kind, n } = job;
  const rows = await tx<(JobRequest & { action: string })[]>`
    select a.action, a.actor as by, a.at, a.detail ->> 'reason' as reason
    from (
      select at, audit_id from carillon.job_requests
      where occurrence = ${occurrence} and schedule_id = ${scheduleId} and kind = ${kind} and n = ${n}
      order by occurrence desc, schedule_id desc, kind desc, n desc, at desc, audit_id desc limit ${requestsMax}) r
    cross join lateral (select * from carillon.audit a where a.at = r.at and a.id = r.audit_id offset 0) a
    order by r.at desc, r.audit_id desc`;
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
