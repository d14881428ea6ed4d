import type { Sql } from "../../lib/db/connect.ts";

/**
 * How many connections to this one's database wait for a lock; for an advisory one of this class, if it is named. Databases of other
 * tests are on the same server at the same time, and the server tells of all of them.
 */
export async function waitingLocks(sql: Sql, advisoryClass?: number): Promise<number> {
  const rows =
    advisoryClass === undefined
      ? await sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      : await sql`
        select from pg_locks where locktype = 'advisory' and classid = ${advisoryClass} and not granted
          and database = (select oid from pg_database where datname = current_database())`;
  return rows.length;
}
