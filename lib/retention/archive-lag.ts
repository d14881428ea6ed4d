import type { Tx } from "../db/connect.ts";

/**
 * For how long the oldest day that could go has waited for the archive to have it. A day that is kept for another reason does not wait for that,
 * nor does one of which it is not known yet.
 */
export async function archiveLagMs(sql: Tx, retentionDays: number): Promise<number> {
  const [row] = await sql<{ ms: number }[]>`
    select coalesce(extract(epoch from carillon.clock() - (min(p.day) + 1)::timestamp at time zone 'UTC' - ${retentionDays} * interval '1 day') * 1000, 0)::float8 as ms
    from carillon.past_days(${retentionDays} * interval '1 day') p where not p.to_look and not carillon.is_archived(p.day)`;
  return row?.ms ?? 0;
}
