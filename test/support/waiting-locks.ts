import type { Sql } from "../../lib/db/connect.ts";

/**
 * The number of connections to this database that wait for a lock, or for an advisory lock of this
 * class. Other tests use other databases of the same server, whose connections the server lists
 * too.
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
