import type { Tx } from "../db/connect.ts";

/**
 * Of `s`, a schedule: a row where it has been a pulse all its life that nobody has fired. It has no jobs, so no claim has any of them in
 * its hands, and whoever edits it need not pass its shard's gate: edits of other pulses go on beside it. One by one (`offset 0`): as a
 * set the planner may read all pulses there are.
 */
export const pulseWithoutJobs = (tx: Tx) => tx`
  lateral (select true as jobless from carillon.pulses p where p.schedule_id = s.id and not p.may_have_jobs offset 0) j`;

/** Under the rows' locks, beneath which it cannot change any more. */
export async function haveNoJobs(tx: Tx, ids: readonly string[]): Promise<boolean> {
  if (ids.length === 0) return true;
  const jobless = await tx`
    select from unnest(${ids}::bigint[]) s (id) cross join ${pulseWithoutJobs(tx)}`;
  return jobless.length === ids.length;
}
