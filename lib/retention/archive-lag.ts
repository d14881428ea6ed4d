import type { Tx } from "../db/connect.ts";

/**
 * How long the oldest day past the retention has waited for the archive. A day that is kept for
 * another reason does not count, nor does a day that has not been checked yet.
 */
export async function archiveLagMs(sql: Tx, retentionDays: number): Promise<number> {
  const [row] = await sql<{ ms: number }[]>`
    select coalesce(extract(epoch from carillon.clock() - (min(p.day) + 1)::timestamp at time zone 'UTC' - ${retentionDays} * interval '1 day') * 1000, 0)::float8 as ms
    from carillon.past_days(${retentionDays} * interval '1 day') p where not p.to_look and not carillon.is_archived(p.day)`;
  return row?.ms ?? 0;
}
