import type { Tx } from "../../db/connect.ts";

/** For how long the oldest transaction of anybody has been open; null where the owner of the tables may not see those of others. */
export async function oldestTransactionMs(sql: Tx): Promise<number | null> {
  const [row] = await sql<{ ms: string | null }[]>`select carillon.oldest_transaction_ms() as ms`;
  return row?.ms == null ? null : Number(row.ms);
}
