import type { Sql, Tx } from "./connect.ts";

/**
 * Runs one statement that reads the first rows of an index in its order. Where the planner has no
 * statistics, or expects few rows, it would read all of them and sort.
 */
export function byIndex<Row>(
  sql: Sql,
  read: (tx: Tx) => PromiseLike<readonly Row[]>,
): Promise<readonly Row[]> {
  return sql.begin(async (tx) => {
    const settings = tx`
      select set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true), set_config('enable_seqscan', 'off', true),
        set_config('jit', 'off', true)`.execute();
    const rows = read(tx);
    await settings;
    return rows;
  });
}
