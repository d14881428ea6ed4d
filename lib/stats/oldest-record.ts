import type { Tx } from "../db/connect.ts";

/**
 * When the oldest job or range that is kept occurred; now, if there is none. Ranges are kept longer
 * than jobs, with their schedule; those from before the kept days do not count.
 */
export async function oldestRecordAt(tx: Tx): Promise<Date> {
  const [row] = await tx<{ at: Date }[]>`
    select greatest(r.kept_from, coalesce(least(
      (select occurrence from carillon.jobs order by occurrence limit 1),
      (select to_at from carillon.passed_over order by to_at limit 1)), carillon.clock())) as at
    from carillon.retention r`;
  if (row === undefined) throw new Error("The row of the retention is missing.");
  return row.at;
}
