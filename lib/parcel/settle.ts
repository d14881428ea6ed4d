import type { Sql } from "../db/connect.ts";
import type { ClaimedJob, ClaimedParcel } from "./claim.ts";
import type { OutgoingParcel } from "./parcel-queue.ts";

/** What is written down for one job of a parcel. */
export type Settlement =
  | { kind: "succeeded" }
  | { kind: "retry"; afterMs: number; error: string }
  | { kind: "dead"; error: string }
  /** Never started: handed back, and no attempt is counted. */
  | { kind: "back" };

export interface Settled {
  /** False when the lease had been taken over: nothing was written, whoever has the parcel now writes. */
  held: boolean;
  /** What is to be tried again, and whose turn in a lane has come. */
  outgoing: OutgoingParcel[];
}

interface SettleRow {
  settled: boolean;
  id: string | null;
  queue: "fast" | "slow" | null;
  waitMs: number;
}

/** Settles every claimed job of a parcel in one statement, if the fence still holds. */
export async function settleParcel(
  sql: Sql,
  parcel: ClaimedParcel,
  settlements: readonly Settlement[],
): Promise<Settled> {
  const asPlanned = parcel.jobs.every(({ version, plannedVersion }) => version === plannedVersion);
  const rows =
    asPlanned && settlements.every(({ kind }) => kind === "succeeded")
      ? await sql<SettleRow[]>`
        select settled, id, queue, 0 as "waitMs" from carillon.settle_parcel(${parcel.id}, ${parcel.fence})`
      : await settleEach(sql, parcel, settlements);
  const outgoing = rows.flatMap(({ id, queue, waitMs }) =>
    id === null || queue === null ? [] : [{ id, queue, waitMs }],
  );
  return { held: rows[0]?.settled === true, outgoing };
}

function settleEach(
  sql: Sql,
  { id, fence, jobs }: ClaimedParcel,
  settlements: readonly Settlement[],
): PromiseLike<SettleRow[]> {
  const column = <Value>(of: (job: ClaimedJob) => Value) => jobs.map(of);
  return sql<SettleRow[]>`
    select settled, id, queue, coalesce(greatest(0, extract(epoch from ready_at - carillon.clock()) * 1000), 0)::float8 as "waitMs"
    from carillon.settle_parcel(${id}, ${fence}, ${sql.array(column((job) => job.occurrence))}::timestamptz[],
      ${column((job) => job.scheduleId)}::bigint[], ${column((job) => job.kind)}::text[]::carillon.job_kind[], ${column((job) => job.n)}::int[],
      ${settlements.map(({ kind }) => kind)}::text[],
      ${settlements.map((each) => (each.kind === "retry" ? Math.ceil(each.afterMs) : null))}::bigint[],
      ${settlements.map((each) => ("error" in each ? each.error : null))}::text[],
      ${column((job) => job.version)}::int[])`;
}
