import type { Tx } from "../db/connect.ts";
import { type JobKey, jobId, parseJobId } from "../job/job-id.ts";
import { type JobRead, readJob } from "../job/read-job.ts";
import { handOver } from "../parcel/hand-over.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import { PassingConflict, Refusal } from "../refusal.ts";
import type { Caller } from "../schedule/shape/caller.ts";
import { beginPart, type Part } from "./act-in-halves.ts";
import { editConflicts, isEditConflict } from "./edit-conflicts.ts";
import type { EditDeps } from "./edit-transaction.ts";
import { type ActedBy, type EntryKey, noteJobs } from "./note-jobs.ts";

/** Result of a cancel. `asked`: the job is running, and its worker is notified to stop it. */
export type CancelOutcome = "cancelled" | "asked" | "settled" | "missing" | "moved";

export interface JobParams {
  id: string;
  reason?: string | undefined;
  caller: Caller;
}

/**
 * Cancels one job. A waiting job is cancelled at once. If the job is running, its handler's signal
 * aborts within seconds, and the result by then is recorded.
 */
export async function cancelJob(
  deps: EditDeps,
  params: JobParams,
): Promise<{ job: JobRead; asked: boolean }> {
  const key = parseJobId(params.id);
  const detail = { job: params.id, ...(params.reason === undefined ? {} : { reason: params.reason }) };
  const outcome =
    key === null ? "missing" : (await cancelJobs(deps, [key], { ...params, detail })).get(jobId(key));
  const job = await readJob(deps.sql, params.id);
  if (job === null || outcome === undefined || outcome === "missing") throw noSuchJob(params.id);
  if (outcome === "settled")
    throw new Refusal(
      "conflict",
      `The job ${job.id} is ${job.state}: only a waiting, retrying or running job can be cancelled.`,
    );
  if (outcome === "moved")
    throw new PassingConflict(
      `The job ${job.id} moved to another parcel during the cancel. Retry the request.`,
    );
  return { job, asked: outcome === "asked" };
}

export function noSuchJob(id: string): Refusal {
  return new Refusal("missing", `There is no job ${JSON.stringify(id.slice(0, 200))}.`);
}

/**
 * Cancels jobs together, some hundreds at most. A job that moves to another parcel meanwhile is
 * cancelled in a new transaction, because the lock order allows a transaction to read the parcels
 * only once.
 */
export async function cancelJobs(
  { sql, queue }: EditDeps,
  keys: readonly JobKey[],
  by: ActedBy,
  part?: Part,
): Promise<Map<string, CancelOutcome>> {
  const outcomes = new Map<string, CancelOutcome>();
  let left = keys;
  for (let attempt = 1; left.length > 0 && attempt <= editConflicts.attempts; attempt++) {
    const some = left;
    try {
      const { done, parcels, entry } = await beginPart(sql, part, (tx) => cancelJobsInside(tx, some, by));
      if (by.entry !== undefined) by.entry.written ??= entry;
      await handOver(sql, queue, parcels);
      for (const { became, ...key } of done) outcomes.set(jobId(key), became);
      left = done.filter(({ became }) => became === "moved");
    } catch (error) {
      if (!isEditConflict(error) || attempt === editConflicts.attempts) throw error;
    }
  }
  return outcomes;
}

type Row = (JobKey & { became: CancelOutcome }) | (OutgoingParcel & { became: null });

/** Jobs with the result `moved` stay unchanged. The caller sends the parcels after the commit. */
export async function cancelJobsInside(
  tx: Tx,
  keys: readonly JobKey[],
  by: ActedBy,
): Promise<{
  done: (JobKey & { became: CancelOutcome })[];
  parcels: OutgoingParcel[];
  entry: EntryKey | null;
}> {
  const rows = await tx<Row[]>`
    select became, occurrence, schedule_id as "scheduleId", kind, n, id, queue, 0::float8 as "waitMs"
    from carillon.cancel_jobs(${tx.array(keys.map(({ occurrence }) => occurrence))}::timestamptz[], ${keys.map(({ scheduleId }) => scheduleId)}::bigint[],
      ${keys.map(({ kind }) => kind)}::text[]::carillon.job_kind[], ${keys.map(({ n }) => n)}::int[])`;
  const done = rows.filter((row) => row.became !== null);
  const noted = done.filter(({ became }) => became === "cancelled" || became === "asked");
  const entry = await noteJobs(tx, "jobs.cancelled", noted, by);
  const parcels = rows.flatMap((row) =>
    row.became === null ? [{ id: row.id, queue: row.queue, waitMs: row.waitMs }] : [],
  );
  return { done, parcels, entry };
}
