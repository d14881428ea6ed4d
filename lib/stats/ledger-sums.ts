import type postgres from "postgres";
import type { Tx } from "../db/connect.ts";
import { addOutcomes, type Outcomes, type OutcomesByStep, outcomesAt } from "./outcomes.ts";

type Query = postgres.PendingQuery<postgres.Row[]>;

/** Statements that give the jobs and the ranges that a page counts. */
export interface LedgerRows {
  /** Columns as in `jobCounted`. */
  jobs: Query;
  /** With `to_at`, `reason` and `count`. */
  passed: Query;
}

/** The columns of a job `j` that are counted. */
export const jobCounted = (tx: Tx) =>
  tx`j.occurrence, j.kind, j.state, j.reason, j.attempt, j.due_at, j.started_at`;

interface SumsRow extends Omit<Outcomes, "pulsesTaken" | "pulsesLost" | "late"> {
  at: Date;
  bucket: number | null;
  jobs: number;
}

/**
 * The outcomes of jobs by the step of their occurrence. A range that was passed over counts in the
 * step of its last occurrence.
 */
export async function sumsBySteps(tx: Tx, rows: LedgerRows, stepMs: number): Promise<OutcomesByStep> {
  const binned = (column: string) =>
    tx`date_bin(${`${stepMs} ms`}::interval, ${tx(column)}, 'epoch'::timestamptz)`;
  const steps: OutcomesByStep = new Map();
  const sums = await tx<SumsRow[]>`
    select ${binned("j.occurrence")} as at, case when j.kind <> 'backfill' then carillon.lateness_bucket(j.started_at - j.due_at) end as bucket,
      count(*)::float8 as jobs,
      -- A job that is skipped from birth was never made for a worker.
      (count(*) filter (where j.state <> 'skipped' or j.reason in ('late', 'overlap')))::float8 as made,
      (count(*) filter (where j.state = 'succeeded'))::float8 as succeeded,
      -- The last attempt of a job that succeeded or was cancelled has not failed.
      sum(greatest(0, j.attempt - (j.state in ('succeeded', 'cancelled'))::int))::float8 as failed,
      (count(*) filter (where j.state = 'dead'))::float8 as dead,
      (count(*) filter (where j.state = 'cancelled'))::float8 as cancelled,
      (count(*) filter (where j.state = 'skipped' and j.reason <> 'missed'))::float8 as skipped,
      (count(*) filter (where j.state = 'skipped' and j.reason = 'missed'))::float8 as missed,
      (count(*) filter (where j.state = 'waiting'))::float8 as open
    from (${rows.jobs}) j group by 1, 2`;
  for (const { at, bucket, jobs, ...counts } of sums) {
    const late = bucket === null ? new Map<number, number>() : new Map([[bucket, jobs]]);
    addOutcomes(outcomesAt(steps, at.getTime()), { ...counts, late });
  }
  const passed = await tx<{ at: Date; skipped: number; missed: number }[]>`
    select ${binned("p.to_at")} as at, coalesce(sum(p.count) filter (where p.reason <> 'missed'), 0)::float8 as skipped,
      coalesce(sum(p.count) filter (where p.reason = 'missed'), 0)::float8 as missed
    from (${rows.passed}) p group by 1`;
  for (const { at, ...counts } of passed) addOutcomes(outcomesAt(steps, at.getTime()), counts);
  return steps;
}
