import type { Sql } from "../db/connect.ts";
import type { JobKey } from "../job/job-id.ts";
import type { Json } from "../schedule/json.ts";
import type { RetryPolicy } from "../schedule/retry-shape.ts";
import { defaults } from "../schedule/stored-schedule.ts";
import type { Target } from "../schedule/target-shape.ts";
import type { OutgoingParcel, QueueClass } from "./parcel-queue.ts";

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
  /** The lane it passed because it shares a group. */
  lane: string | null;
  /** Of a recheck: how many there have been with it. */
  checks: number;
  /** Attempts that the retry policy does not count: they were before somebody had it tried again. */
  forgiven: number;
  target: Target;
  payload: Json;
  retry: RetryPolicy;
  timeout: string;
}

export interface ClaimedParcel {
  outcome: "claimed";
  id: string;
  fence: number;
  claimedAt: Date;
  jobs: ClaimedJob[];
  /** At most so many of them may be under way at once. */
  slots: number;
  /** Whose turn in a lane or at a target has come by this claim, and what left the parcel because it goes elsewhere. */
  freed: OutgoingParcel[];
}

/**
 * Why there is nothing to do: `early` (with the time to wait), `gone` (settled, split or never there), `leased` (another
 * worker has it), `ended` (its lease ran out: the sweep will bring its jobs back), `held` (it waits for a hold to go, or for its
 * turn in a lane or at its target), `empty` (nothing in it may start).
 */
export interface NotClaimed {
  outcome: "early" | "gone" | "leased" | "ended" | "held" | "empty";
  waitMs: number;
  freed: OutgoingParcel[];
}

interface JobRow extends Omit<ClaimedJob, "retry" | "timeout" | "checks" | "forgiven"> {
  outcome: "job";
  checks: number | null;
  forgiven: number | null;
  /** What of these the schedule says otherwise than by default. */
  retry: Partial<RetryPolicy> | null;
  timeout: string | null;
}

type ClaimRow = { waitMs: number } & (
  | JobRow
  | { outcome: "claimed"; fence: number; claimedAt: Date; slots: number | null }
  | { outcome: "freed"; freedId: string; freedQueue: QueueClass }
  | { outcome: NotClaimed["outcome"]; freedId: string | null; freedQueue: QueueClass | null }
);

export async function claimParcel(
  sql: Sql,
  id: string,
  leaseMs: number,
  /** Of the parcels of one target so many may be worked at once. */
  window: number | null = null,
): Promise<ClaimedParcel | NotClaimed> {
  const rows = await sql<ClaimRow[]>`
    select outcome, wait_ms as "waitMs", fence, claimed_at as "claimedAt", occurrence, schedule_id as "scheduleId", kind, n,
      due_at as "dueAt", attempt, planned_version as "plannedVersion", version, key, group_key as group, retry, timeout, target, payload,
      lane, checks, forgiven, slots, freed as "freedId", freed_queue as "freedQueue"
    from carillon.claim_parcel(${id}, ${Math.ceil(leaseMs)}, ${window})`;
  const jobs: ClaimedJob[] = [];
  const freed: OutgoingParcel[] = [];
  for (const row of rows) {
    if (row.outcome === "job") jobs.push(claimedJob(row));
    else if ("freedId" in row && row.freedId !== null && row.freedQueue !== null)
      freed.push({ id: row.freedId, queue: row.freedQueue, waitMs: row.waitMs });
  }
  for (const row of rows.toReversed()) {
    if (row.outcome === "job" || row.outcome === "freed") continue;
    if (row.outcome !== "claimed") return { outcome: row.outcome, waitMs: row.waitMs, freed };
    const { fence, claimedAt, slots } = row;
    return { outcome: "claimed", id, fence, claimedAt, jobs, slots: slots ?? jobs.length, freed };
  }
  throw new Error(`Claiming parcel ${id} gave no answer.`);
}

function claimedJob(row: JobRow): ClaimedJob {
  const {
    occurrence,
    scheduleId,
    kind,
    n,
    dueAt,
    attempt,
    plannedVersion,
    version,
    key,
    group,
    lane,
    target,
    payload,
  } = row;
  return {
    occurrence,
    scheduleId,
    kind,
    n,
    dueAt,
    attempt,
    plannedVersion,
    version,
    key,
    group,
    lane,
    target,
    payload,
    checks: row.checks ?? 0,
    forgiven: row.forgiven ?? 0,
    retry: row.retry === null ? defaults.retry : { ...defaults.retry, ...row.retry },
    timeout: row.timeout ?? defaults.timeout,
  };
}
