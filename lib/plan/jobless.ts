import type { Tx } from "../db/connect.ts";

/**
 * Of `s`, a schedule: whether it has been a pulse all its life that nobody has fired. It has no jobs, so no claim has any of them in its
 * hands, and whoever edits it need not pass its shard's gate: edits of other pulses go on beside it.
 */
export const isJobless = (tx: Tx) => tx`
  exists (select from carillon.pulses p where p.schedule_id = s.id and not p.may_have_jobs)`;

/** Under the rows' locks, beneath which it cannot change any more. */
export async function areJobless(tx: Tx, ids: readonly string[]): Promise<boolean> {
  if (ids.length === 0) return true;
  const [row] = await tx<{ all: boolean }[]>`
    select bool_and(${isJobless(tx)}) as all from unnest(${ids}::bigint[]) s (id)`;
  return row?.all === true;
}
