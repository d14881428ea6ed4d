import { type LifecycleEvent, lifecycleDefaults } from "../config/lifecycle-events.ts";
import type { Sql, Tx } from "../db/connect.ts";
import { keptPlan } from "../db/statement.ts";
import type { ClaimedParcel } from "./claim.ts";
import type { ClaimedJob } from "./claimed-job.ts";
import { type Measured, type OwnTimes, ownTimes, type SharedTimes, sharedTimes } from "./own-times.ts";
import type { OutgoingParcel } from "./parcel-queue.ts";

/** An error in its stored form. */
export interface KeptError {
  /** One line, with the class of the error in front of its message. */
  error: string;
  errorClass?: string | undefined;
  stack?: string | undefined;
}

/** The result that is written for one job of a parcel. */
export type Settlement =
  | { kind: "succeeded" }
  /** Succeeded, and a recheck is made for this instant. */
  | { kind: "again"; at: Date }
  | ({ kind: "retry"; afterMs: number } & KeptError)
  | ({ kind: "retry"; at: Date } & KeptError)
  /**
   * `reason`: by default the last attempt has failed. `hold`: the reason why the schedule is to be
   * held.
   */
  | ({ kind: "dead"; reason?: string; hold?: string | undefined } & KeptError)
  /** Stopped at a caller's request. */
  | { kind: "cancelled" }
  /** Never started: handed back, and no attempt is counted. */
  | { kind: "back" };

export interface Settled {
  /**
   * False if the lease had been taken over: nothing was written, and the worker that has the parcel
   * now writes.
   */
  held: boolean;
  /** Parcels of retries and rechecks, and parcels that have their turn. */
  outgoing: OutgoingParcel[];
}

export interface SettleRow {
  settled: boolean;
  id: string | null;
  queue: "fast" | "slow" | null;
  waitMs: number;
}

/** The events that the bus receives for settled jobs. */
export type Notify = readonly LifecycleEvent[];

export const notifyByDefault: Notify = lifecycleDefaults;

/** Settles every claimed job of a parcel in one statement, if the fence still holds. */
export async function settleParcel(
  sql: Sql,
  parcel: ClaimedParcel,
  /** Null for a job that its own transaction has settled. */
  settlements: readonly (Settlement | null)[],
  notify: Notify = notifyByDefault,
  measured?: Measured,
): Promise<Settled> {
  const shared = isPlainSuccess(parcel, settlements) ? sharedTimes(measured) : null;
  const rows =
    shared === null
      ? await settleEach(sql, parcel, settlements, { notify, measured })
      : await settlePlain(sql, parcel, { notify, shared });
  return settledOf(rows);
}

function settlePlain(
  sql: Sql,
  { id, fence }: ClaimedParcel,
  { notify, shared: { startedMs, endedMs } }: { notify: Notify; shared: SharedTimes },
): PromiseLike<SettleRow[]> {
  return keptPlan(sql<SettleRow[]>`
    select settled, id, queue, coalesce(greatest(0, extract(epoch from ready_at - carillon.clock()) * 1000), 0)::float8 as "waitMs"
    from carillon.settle_parcel(${id}, ${fence}, ${[...notify]}::text[], p_started_ms => ${[startedMs]}::int[], p_ended_ms => ${[endedMs]}::int[])`);
}

/** Whether every job has simply succeeded. */
export function isPlainSuccess(
  { jobs }: Pick<ClaimedParcel, "jobs">,
  settlements: readonly (Settlement | null)[],
): boolean {
  return (
    jobs.every(({ version, plannedVersion }) => version === plannedVersion) &&
    settlements.every((each) => each?.kind === "succeeded")
  );
}

export function settledOf(rows: readonly SettleRow[]): Settled {
  const outgoing = rows.flatMap(({ id, queue, waitMs }) =>
    id === null || queue === null ? [] : [{ id, queue, waitMs }],
  );
  return { held: rows[0]?.settled === true, outgoing };
}

async function settleEach(
  sql: Sql,
  parcel: ClaimedParcel,
  perJob: readonly (Settlement | null)[],
  { notify, measured }: { notify: Notify; measured: Measured | undefined },
): Promise<SettleRow[]> {
  const times = ownTimes(measured);
  await attachDaysOf(sql, perJob);
  return keptPlan(sql<SettleRow[]>`
    select settled, id, queue, coalesce(greatest(0, extract(epoch from ready_at - carillon.clock()) * 1000), 0)::float8 as "waitMs"
    from carillon.settle_parcel(${parcel.id}, ${parcel.fence}, ${[...notify]}::text[], ${settlementLists(sql, parcel, perJob, times)})`);
}

/** The parameters of `settle_parcel` and `settle_some` for the jobs that have a settlement. */
export function settlementLists(
  tx: Tx,
  parcel: ClaimedParcel,
  perJob: readonly (Settlement | null)[],
  times: OwnTimes | null,
) {
  const isTold = (_: unknown, index: number) => perJob[index] !== null;
  const jobs = parcel.jobs.filter(isTold);
  const settlements = perJob.filter((each) => each !== null);
  const column = <Value>(of: (job: ClaimedJob) => Value) => jobs.map(of);
  const told = <Value>(of: (settlement: Settlement) => Value) => settlements.map(of);
  const at = told((each) => ("at" in each ? each.at : null));
  return tx`
    ${tx.array(column((job) => job.occurrence))}::timestamptz[],
    ${column((job) => job.scheduleId)}::bigint[], ${column((job) => job.kind)}::text[]::carillon.job_kind[], ${column((job) => job.n)}::int[],
    ${told(({ kind }) => kind)}::text[], ${at.map((instant) => instant?.toISOString() ?? null)}::text[]::timestamptz[],
    ${told((each) => ("afterMs" in each ? Math.ceil(each.afterMs) : null))}::bigint[],
    ${told((each) => ("error" in each ? each.error : null))}::text[],
    ${told((each) => ("error" in each ? (each.errorClass ?? null) : null))}::text[],
    ${told((each) => ("error" in each ? (each.stack ?? null) : null))}::text[],
    ${told((each) => ("reason" in each ? (each.reason ?? null) : null))}::text[],
    ${told((each) => ("hold" in each ? (each.hold ?? null) : null))}::text[],
    ${column((job) => job.version)}::int[], ${times?.startedMs.filter(isTold) ?? null}::int[],
    ${times?.endedMs.filter(isTold) ?? null}::int[]`;
}

/**
 * Makes the partitions that the days of rechecks do not have yet. This takes locks that a settle
 * must not hold.
 */
export async function attachDaysOf(sql: Sql, settlements: readonly (Settlement | null)[]): Promise<void> {
  const again = settlements.flatMap((each) => (each?.kind === "again" ? [each.at] : []));
  if (again.length > 0) await attachDaysFor(sql, again);
}

export async function attachDaysFor(sql: Tx, instants: readonly Date[]): Promise<void> {
  await sql`select carillon.attach_missing_days(${sql.array([...instants])}::timestamptz[])`;
}
