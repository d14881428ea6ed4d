import type { Tx } from "../db/connect.ts";
import { freshTallies } from "./fresh-tallies.ts";
import { addOutcomes, type Outcomes, type OutcomesByStep, outcomesAt } from "./outcomes.ts";
import type { Range } from "./series-steps.ts";

interface CountsRow extends Omit<Outcomes, "open" | "late"> {
  at: Date;
}

/**
 * All outcomes of a range by the time at which they were written: the rolled-up minutes, and the
 * rows that are not rolled up yet. Both statements need one snapshot, or a row that a tick rolls up
 * between them would be missing.
 */
export async function settledBySteps(tx: Tx, range: Range, stepMs: number): Promise<OutcomesByStep> {
  const [from, to] = [new Date(range.from), new Date(range.to)];
  const binned = (column: string) =>
    tx`date_bin(${`${stepMs} ms`}::interval, ${tx(column)}, 'epoch'::timestamptz)`;
  const steps: OutcomesByStep = new Map();
  const counts = await tx<CountsRow[]>`
    select ${binned("at")} as at, sum(fired)::float8 as made, sum(succeeded)::float8 as succeeded, sum(failed)::float8 as failed,
      sum(dead)::float8 as dead, sum(cancelled)::float8 as cancelled, sum(skipped)::float8 as skipped, sum(missed)::float8 as missed,
      sum(pulses)::float8 as "pulsesTaken", sum(pulses_lost)::float8 as "pulsesLost"
    from (
      select minute as at, fired, succeeded, failed, dead, cancelled, skipped, missed, pulses, pulses_lost
      from carillon.minutes where minute >= ${from} and minute < ${to}
      union all
      select at, fired, succeeded, failed, dead, cancelled, skipped, missed, pulses, pulses_lost
      from (${freshTallies(tx)}) f where at >= ${from} and at < ${to}) m
    group by 1`;
  for (const { at, ...row } of counts) addOutcomes(outcomesAt(steps, at.getTime()), row);
  const late = await tx<{ at: Date; bucket: number; jobs: number }[]>`
    select ${binned("at")} as at, bucket, sum(jobs)::float8 as jobs
    from (
      select minute as at, bucket, jobs from carillon.minute_lateness where minute >= ${from} and minute < ${to}
      union all
      select f.at, l.bucket, l.jobs from (${freshTallies(tx)}) f cross join lateral unnest(f.late_buckets, f.late_jobs) l (bucket, jobs)
      where f.at >= ${from} and f.at < ${to}) m
    group by 1, 2`;
  for (const { at, bucket, jobs } of late)
    addOutcomes(outcomesAt(steps, at.getTime()), { late: new Map([[bucket, jobs]]) });
  return steps;
}
