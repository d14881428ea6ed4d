import type { Tx } from "../db/connect.ts";

/**
 * Yields a row if the schedule `s` has always been a pulse and was never fired by hand. It has no
 * jobs, so no claim holds any of them, and an edit need not close the gate of its shard: edits of
 * other pulses go on beside it. `offset 0` makes the planner look up each schedule alone: otherwise
 * it may read all pulses.
 */
export const pulseWithoutJobs = (tx: Tx) => tx`
  lateral (select true as jobless from carillon.pulses p where p.schedule_id = s.id and not p.may_have_jobs offset 0) j`;

/**
 * Whether all these schedules are still pulses without jobs. Their rows are locked, so the result
 * cannot change any more.
 */
export async function haveNoJobs(tx: Tx, ids: readonly string[]): Promise<boolean> {
  if (ids.length === 0) return true;
  const jobless = await tx`
    select from unnest(${ids}::bigint[]) s (id) cross join ${pulseWithoutJobs(tx)}`;
  return jobless.length === ids.length;
}
