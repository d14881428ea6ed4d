import type { Sql } from "../../lib/db/connect.ts";

/** Bytes written to the WAL, and the part in whole pages, which are written after a checkpoint. */
export interface WalUse {
  bytes: number;
  wholePageBytes: number;
  wholePages: number;
}

export interface WalCount {
  end(): Promise<WalUse>;
}

/** Begins to count. Every process's WAL is counted, so nothing else should run meanwhile. */
export async function walUse(sql: Sql): Promise<WalCount> {
  await sql`create extension if not exists pg_walinspect schema public`;
  const from = await position(sql);
  return {
    end: async () => {
      const to = await position(sql);
      const [use] = await sql<WalUse[]>`
        select (${to}::pg_lsn - ${from}::pg_lsn)::float8 as bytes, sum(block_fpi_length)::float8 as "wholePageBytes",
          count(*) filter (where block_fpi_length > 0)::int as "wholePages"
        from public.pg_get_wal_block_info(${from}::pg_lsn, ${to}::pg_lsn, false)`;
      return {
        bytes: use?.bytes ?? 0,
        wholePageBytes: use?.wholePageBytes ?? 0,
        wholePages: use?.wholePages ?? 0,
      };
    },
  };
}

async function position(sql: Sql): Promise<string> {
  // Flushed, so that it can be read.
  const [row] = await sql<{ at: string }[]>`select pg_current_wal_flush_lsn()::text as at`;
  return row?.at ?? "0/0";
}
