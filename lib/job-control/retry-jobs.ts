import type { Tx } from "../db/connect.ts";
import { retrying } from "../db/retrying.ts";
import { beginPart, type Part } from "../edit/act-in-halves.ts";
import { type JobParams, noSuchJob } from "../edit/cancel-jobs.ts";
import { editConflicts } from "../edit/edit-conflicts.ts";
import type { EditDeps } from "../edit/edit-transaction.ts";
import { type ActedBy, type EntryKey, noteJobs } from "../edit/note-jobs.ts";
import { type JobKey, jobId, parseJobId } from "../job/job-id.ts";
import { type JobRead, readJob } from "../job/read-job.ts";
import { handOver } from "../parcel/hand-over.ts";
import { type OutgoingParcel, parcelMax } from "../parcel/parcel-queue.ts";
import { Refusal } from "../refusal.ts";

/** Result of a retry request. `unsettled`: the job is neither dead nor cancelled. */
export type RetryOutcome = "retried" | "unsettled" | "deleted" | "missing";

/**
 * Retries one dead or cancelled job at once, with all attempts that its schedule allows. Its
 * history is kept.
 */
export async function retryJob(deps: EditDeps, params: JobParams): Promise<JobRead> {
  const key = parseJobId(params.id);
  const detail = { job: params.id, ...(params.reason === undefined ? {} : { reason: params.reason }) };
  const outcome =
    key === null
      ? "missing"
      : (await retryJobs(deps, [{ key, afterMs: null }], { ...params, detail })).get(jobId(key));
  const job = await readJob(deps.sql, params.id);
  if (job === null || outcome === undefined || outcome === "missing") throw noSuchJob(params.id);
  if (outcome === "deleted")
    throw new Refusal(
      "conflict",
      `The schedule of the job ${job.id} is deleted, so the job cannot be retried.`,
    );
  if (outcome === "unsettled")
    throw new Refusal(
      "conflict",
      `The job ${job.id} is ${job.state}: only a dead or cancelled job can be retried.`,
    );
  return job;
}

export interface Retried {
  key: JobKey;
  /** Null to retry at once. */
  afterMs: number | null;
}

/**
 * Retries jobs together, some hundreds at most. Jobs with `afterMs` are admitted at the pace of the
 * backlog.
 */
export async function retryJobs(
  { sql, queue }: EditDeps,
  jobs: readonly Retried[],
  by: ActedBy,
  part?: Part,
): Promise<Map<string, RetryOutcome>> {
  return retrying(editConflicts, async () => {
    const { done, parcels, entry } = await beginPart(sql, part, (tx) => retryOnce(tx, jobs, by));
    if (by.entry !== undefined) by.entry.written ??= entry;
    await handOver(sql, queue, parcels);
    return new Map(done.map(({ became, ...key }) => [jobId(key), became]));
  });
}

type Row = (JobKey & { became: RetryOutcome }) | (OutgoingParcel & { became: null });

async function retryOnce(
  tx: Tx,
  jobs: readonly Retried[],
  by: ActedBy,
): Promise<{
  done: (JobKey & { became: RetryOutcome })[];
  parcels: OutgoingParcel[];
  entry: EntryKey | null;
}> {
  const column = <Value>(of: (key: JobKey) => Value) => jobs.map(({ key }) => of(key));
  const owed = jobs.some(({ afterMs }) => afterMs !== null);
  const rows = await tx<Row[]>`
    select became, occurrence, schedule_id as "scheduleId", kind, n, id, queue,
      coalesce(greatest(0, extract(epoch from ready_at - carillon.clock()) * 1000), 0)::float8 as "waitMs"
    from carillon.retry_jobs(${tx.array(column(({ occurrence }) => occurrence))}::timestamptz[], ${column(({ scheduleId }) => scheduleId)}::bigint[],
      ${column(({ kind }) => kind)}::text[]::carillon.job_kind[], ${column(({ n }) => n)}::int[],
      ${jobs.map(({ afterMs }) => (afterMs === null ? null : Math.ceil(afterMs)))}::bigint[], ${owed}, ${parcelMax.fast}, ${parcelMax.slow})`;
  const done = rows.filter((row) => row.became !== null);
  const entry = await noteJobs(
    tx,
    "jobs.retried",
    done.filter(({ became }) => became === "retried"),
    by,
  );
  const parcels = rows.flatMap((row) =>
    row.became === null ? [{ id: row.id, queue: row.queue, waitMs: row.waitMs }] : [],
  );
  return { done, parcels, entry };
}
