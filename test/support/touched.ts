import type { Sql } from "../../lib/db/connect.ts";

export interface Touched {
  /**
   * Rows that were read by scanning a table from its beginning, by table. Tables that were not
   * scanned are left out.
   */
  scanned: Record<string, number>;
  /** Entries that were read, by index. */
  index: Record<string, number>;
}

interface Counted {
  name: string;
  scans: string;
  read: string;
}

/**
 * The counts of Postgres itself while `act` ran on this one connection: more reliable than an
 * `explain` of another run.
 */
export async function touched(sql: Sql, act: () => Promise<unknown>): Promise<Touched> {
  await flushOthersCounts(sql);
  const [tablesBefore, indexesBefore] = await count(sql);
  await act();
  const [tables, indexes] = await count(sql);
  return { scanned: grown(tablesBefore, tables), index: grown(indexesBefore, indexes) };
}

/**
 * Ends idle connections, so that they report their counts before `act` starts. A connection reports
 * its counts up to ten seconds late, and they would be added to those of `act`. Pools open new
 * connections.
 */
async function flushOthersCounts(sql: Sql): Promise<void> {
  await sql`
    select pg_terminate_backend(pid, 5000) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and state = 'idle' and backend_type = 'client backend'`;
}

async function count(sql: Sql): Promise<[Map<string, Counted>, Map<string, Counted>]> {
  await sql`select pg_stat_force_next_flush()`;
  const tables = await sql<Counted[]>`
    select relname as name, coalesce(seq_scan, 0) as scans, coalesce(seq_tup_read, 0) as read from pg_stat_user_tables where schemaname = 'carillon'`;
  const indexes = await sql<Counted[]>`
    select indexrelname as name, idx_scan as scans, idx_tup_read as read from pg_stat_user_indexes where schemaname = 'carillon'`;
  const byName = (rows: readonly Counted[]) => new Map(rows.map((row) => [row.name, row]));
  return [byName(tables), byName(indexes)];
}

function grown(before: Map<string, Counted>, after: Map<string, Counted>): Record<string, number> {
  const entries = [...after.values()].flatMap(({ name, scans, read }) => {
    const earlier = before.get(name);
    const isTouched = Number(scans) > Number(earlier?.scans ?? 0);
    return isTouched ? [[name, Number(read) - Number(earlier?.read ?? 0)] as const] : [];
  });
  return Object.fromEntries(entries);
}
