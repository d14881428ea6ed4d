import type { Sql } from "../db/connect.ts";
import type { JobKey } from "../job/job-id.ts";
import type { Json } from "../schedule/json.ts";
import type { ScheduleBody } from "../schedule/schedule-body.ts";
import { fullBody, type SparseBody } from "../schedule/stored-schedule.ts";
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
  retry: ScheduleBody["retry"];
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

interface ClaimRow extends Omit<ClaimedJob, "retry" | "timeout" | "checks" | "forgiven"> {
  outcome: NotClaimed["outcome"] | "job" | "freed";
  waitMs: number;
  checks: number | null;
  forgiven: number | null;
  slots: number | null;
  fence: number;
  claimedAt: Date;
  body: SparseBody;
  freedId: string | null;
  freedQueue: QueueClass | null;
}

export async function claimParcel(
  sql: Sql,
  id: string,
  leaseMs: number,
  /** Of the parcels of one target so many may be worked at once. */
  window: number | null = null,
): Promise<ClaimedParcel | NotClaimed> {
  const rows = await sql<ClaimRow[]>`
    select outcome, wait_ms as "waitMs", fence, claimed_at as "claimedAt", occurrence, schedule_id as "scheduleId", kind, n,
      due_at as "dueAt", attempt, planned_version as "plannedVersion", version, key, group_key as group, body, target, payload,
      lane, checks, forgiven, slots, freed as "freedId", freed_queue as "freedQueue"
    from carillon.claim_parcel(${id}, ${Math.ceil(leaseMs)}, ${window})`;
  const freed = rows.flatMap(({ freedId, freedQueue, waitMs }) =>
    freedId === null || freedQueue === null ? [] : [{ id: freedId, queue: freedQueue, waitMs }],
  );
  const jobs = rows.filter(({ outcome }) => outcome === "job");
  // What passed a lane comes last: it had to wait for the lane, and the whole parcel is held to have been claimed then.
  const last = jobs.at(-1);
  if (last !== undefined) {
    const { fence, claimedAt, slots } = last;
    const claimed = jobs.map(claimedJob);
    return { outcome: "claimed", id, fence, claimedAt, jobs: claimed, slots: slots ?? claimed.length, freed };
  }
  for (const { outcome, waitMs } of rows)
    if (outcome !== "job" && outcome !== "freed") return { outcome, waitMs, freed };
  throw new Error(`Claiming parcel ${id} gave no answer.`);
}

function claimedJob(row: ClaimRow): ClaimedJob {
  const { occurrence, scheduleId, kind, n, dueAt, attempt, plannedVersion, version, key, group, lane } = row;
  const { target, payload, checks, forgiven } = row;
  const { retry, timeout } = fullBody(row.body, target, payload);
  const facts = {
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
  };
  return { ...facts, target, payload, checks: checks ?? 0, forgiven: forgiven ?? 0, retry, timeout };
}
