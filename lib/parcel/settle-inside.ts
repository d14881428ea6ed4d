import type { Tx } from "../db/connect.ts";
import type { ClaimedJob } from "./claimed-job.ts";
import { type Notify, type Settled, type SettleRow, settledOf } from "./settle.ts";

/**
 * Settles one job as succeeded inside the transaction of its handler, as its last statement: the
 * job and the handler's writes commit together. If `held` is false (the lease is lost, or a caller
 * has cancelled the job) nothing was written, and the transaction must not commit. The day of a
 * recheck must exist (`attachDaysFor`): to make it here would take locks that last until the
 * transaction ends.
 */
export async function settleInside(
  tx: Tx,
  parcel: { id: string; fence: number },
  job: ClaimedJob,
  outcome: { kind: "done" } | { kind: "again"; at: Date },
  /** `startedMs`: how many milliseconds ago the handler began. */
  { notify, startedMs }: { notify: Notify; startedMs: number },
): Promise<Settled> {
  const rows = await tx<SettleRow[]>`
    select settled, id, queue, coalesce(greatest(0, extract(epoch from ready_at - carillon.clock()) * 1000), 0)::float8 as "waitMs"
    from carillon.settle_job(${parcel.id}, ${parcel.fence}, ${job.occurrence}, ${job.scheduleId}, ${job.kind}::carillon.job_kind, ${job.n},
      ${job.version}, ${outcome.kind === "done" ? "succeeded" : "again"}, ${outcome.kind === "again" ? outcome.at : null}, ${[...notify]}::text[],
      ${startedMs}::int)`;
  return settledOf(rows);
}
