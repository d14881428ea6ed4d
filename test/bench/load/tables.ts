import type { Sql } from "../../../lib/db/connect.ts";

/** A table with all its partitions. */
export interface TableState {
  name: string;
  rows: number;
  dead: number;
  tableBytes: number;
  indexBytes: number;
}

export interface DatabaseState {
  walBytes: number;
  tables: TableState[];
}

/** The tables that every job and every edit writes. */
const hot = ["jobs", "parcels", "plan", "schedules", "schedule_versions", "shards", "tallies"];

export async function databaseState(sql: Sql): Promise<DatabaseState> {
  const [wal] = await sql<{ bytes: string }[]>`
    select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::text as bytes`;
  const tables = await sql<TableState[]>`
    select coalesce(parent.relname, t.relname)::text as name, sum(t.n_live_tup)::float8 as rows, sum(t.n_dead_tup)::float8 as dead,
      sum(pg_table_size(t.relid))::float8 as "tableBytes", sum(pg_indexes_size(t.relid))::float8 as "indexBytes"
    from pg_stat_user_tables t
    left join pg_inherits i on i.inhrelid = t.relid
    left join pg_class parent on parent.oid = i.inhparent
    where t.schemaname = 'carillon' and coalesce(parent.relname, t.relname) = any(${hot}::text[])
    group by 1 order by 1`;
  return { walBytes: Number(wal?.bytes), tables };
}
