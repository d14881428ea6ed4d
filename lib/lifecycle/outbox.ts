import type { LifecycleEvent } from "../config/lifecycle-events.ts";
import type { Sql } from "../db/connect.ts";
import type { JobKey } from "../job/job-id.ts";
import type { ClaimedParcel } from "../parcel/claim.ts";
import type { ClaimedJob } from "../parcel/claimed-job.ts";

/** An event for the bus, with the present data of its job. */
export interface OutboxEvent extends JobKey {
  id: string;
  event: LifecycleEvent;
  at: Date;
  attempt: number;
  /** For occurrences that were passed over together. */
  passed: PassedOver | null;
  key: string | null;
  group: string | null;
  version: number | null;
  /** Null for an event without a job, or if the job has been dropped. */
  dueAt: Date | null;
  reason: string | null;
  error: string | null;
  errorClass: string | null;
}

export interface PassedOver {
  reason: string;
  from: string;
  to: string;
  /** Null if the number is unknown. */
  count: number | null;
  /** Counting stopped early: `count` is a lower bound. */
  more: boolean;
}

/** `fresh`: events without an attempt. `due`: events whose next attempt is due. */
export type Wanted = "fresh" | "due";

/**
 * Claims events, the oldest first. If the process dies before `forgetEvents`, they are claimed
 * again a minute later.
 */
export function claimEvents(sql: Sql, limit: number, wanted: Wanted): PromiseLike<OutboxEvent[]> {
  return sql<OutboxEvent[]>`
    select id, event, at, occurrence, schedule_id as "scheduleId", kind, n, attempt, case when event in ('skipped', 'missed') then detail end as passed, key, group_key as group, version,
      due_at as "dueAt", reason, error, error_class as "errorClass"
    from carillon.claim_events(${limit}, ${wanted === "fresh"})`;
}

/**
 * Deletes events that are sent or given up. A locked event is skipped, and so is sent again later.
 */
export async function forgetEvents(sql: Sql, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await sql`
    delete from carillon.outbox where id = any(array(
      select id from carillon.outbox where id = any(${[...ids]}::bigint[]) for update skip locked))`;
}

const leftToTick = "30 seconds";

/** Records the attempts that begin with a claim as events for the bus. */
export async function noteStarted(
  sql: Sql,
  { jobs, claimedAt }: Pick<ClaimedParcel, "jobs" | "claimedAt">,
): Promise<void> {
  const column = <Value>(of: (job: ClaimedJob) => Value) => jobs.map(of);
  await sql`
    insert into carillon.outbox (event, occurrence, schedule_id, kind, n, attempt, at, offer_at)
    select 'started', k.occurrence, k.schedule_id, k.kind, k.n, k.attempt, ${claimedAt}, carillon.clock() + ${leftToTick}::interval
    from unnest(${sql.array(column(({ occurrence }) => occurrence))}::timestamptz[], ${column(({ scheduleId }) => scheduleId)}::bigint[],
      ${column(({ kind }) => kind)}::text[]::carillon.job_kind[], ${column(({ n }) => n)}::int[],
      ${column(({ attempt }) => attempt + 1)}::int[]) k (occurrence, schedule_id, kind, n, attempt)`;
}

/**
 * Stores which events are on, for the statements that pass occurrences over. One row, written only
 * if the setting has changed.
 */
export async function keepSetting(sql: Sql, events: readonly LifecycleEvent[]): Promise<void> {
  await sql`update carillon.lifecycle set events = ${[...events]}::text[] where events <> ${[...events]}::text[]`;
}
