import type { Sql } from "../db/connect.ts";
import type { JobKey } from "../job/job-id.ts";
import type { Json } from "../schedule/json.ts";
import type { ScheduleBody } from "../schedule/schedule-body.ts";
import { fullBody, type SparseBody } from "../schedule/stored-schedule.ts";
import type { Target } from "../schedule/target-shape.ts";

/** A job that may start now, with what its schedule says at this moment. */
export interface ClaimedJob extends JobKey {
  dueAt: Date;
  /** Attempts counted before this one. */
  attempt: number;
  plannedVersion: number;
  /** The version that runs. */
  version: number;
  key: string;
  group: string | null;
  target: Target;
  payload: Json;
  retry: ScheduleBody["retry"];
  timeout: string;
}

export interface ClaimedParcel {
  outcome: "claimed";
  id: string;
  fence: number;
  claimedAt: Date;
  jobs: ClaimedJob[];
}

/**
 * Why there is nothing to do: `early` (with the time to wait), `gone` (settled, split or never there), `leased` (another
 * worker has it), `ended` (its lease ran out: the sweep will bring its jobs back), `held`, `empty` (nothing in it may start).
 */
export interface NotClaimed {
  outcome: "early" | "gone" | "leased" | "ended" | "held" | "empty";
  waitMs: number;
}

interface ClaimRow extends Omit<ClaimedJob, "retry" | "timeout"> {
  outcome: NotClaimed["outcome"] | "job";
  waitMs: number;
  fence: number;
  claimedAt: Date;
  body: SparseBody;
}

export async function claimParcel(
  sql: Sql,
  id: string,
  leaseMs: number,
): Promise<ClaimedParcel | NotClaimed> {
  const rows = await sql<ClaimRow[]>`
    select outcome, wait_ms as "waitMs", fence, claimed_at as "claimedAt", occurrence, schedule_id as "scheduleId", kind, n,
      due_at as "dueAt", attempt, planned_version as "plannedVersion", version, key, group_key as group, body, target, payload
    from carillon.claim_parcel(${id}, ${Math.ceil(leaseMs)})`;
  const [first] = rows;
  if (first === undefined) throw new Error(`Claiming parcel ${id} gave no answer.`);
  if (first.outcome !== "job") return { outcome: first.outcome, waitMs: first.waitMs };
  return {
    outcome: "claimed",
    id,
    fence: first.fence,
    claimedAt: first.claimedAt,
    jobs: rows.map(claimedJob),
  };
}

function claimedJob(row: ClaimRow): ClaimedJob {
  const { body, outcome: _outcome, waitMs: _waitMs, fence: _fence, claimedAt: _claimedAt, ...job } = row;
  const { retry, timeout } = fullBody(body, job.target, job.payload);
  return { ...job, retry, timeout };
}
