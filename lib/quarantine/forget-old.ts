import type postgres from "postgres";
import { boundStatements } from "../db/bounded.ts";
import type { Sql, Tx } from "../db/connect.ts";
import { waitForRows } from "../db/locks.ts";
import type { Log } from "../log/log.ts";
import { allListedAgain, type Tried, tryInHalves } from "./try-rows.ts";

/** Rows of one table that are kept for a time and not needed after it. */
export interface OldRows<Row extends Tried> {
  /** The oldest rows whose time is over and that do not wait in quarantine. */
  list: (sql: Sql, most: number) => PromiseLike<Row[]>;
  /** Deletes the rows, unless they have been renewed since, and returns their number. */
  drop: (tx: Tx, rows: readonly Row[]) => PromiseLike<number>;
  /** Rows listed and deleted together. */
  most: number;
}

/**
 * Time limits of a statement that deletes a whole page, and a part of a page that has failed. A
 * page usually takes a few hundredths of a second.
 */
const pageMs = 1_000;
const partMs = 200;
/**
 * The time limit for one row. It is longer than the lock timeout, so that the reason names the
 * lock.
 */
const aloneMs = 700;
/**
 * About as many parts as the search for one bad row of a page takes. They are done even if time is
 * up meanwhile, because the next tick would begin the search again.
 */
const partsAlways = 30;

/**
 * Deletes rows whose time is over, page by page. A row that cannot be deleted is set aside, and the
 * others are deleted. Returns the number of deleted rows.
 */
export async function forgetOld<Row extends Tried>(
  { sql, log }: { sql: Sql; log: Log },
  { list, drop, most }: OldRows<Row>,
  timeIsUp: () => boolean,
): Promise<number> {
  let gone = 0;
  for (let tried: Row[] = []; !timeIsUp(); ) {
    const page = await list(sql, most);
    if (allListedAgain(tried, page)) break;
    let parts = 0;
    const dropSome = async (part: readonly Row[]) => {
      parts += 1;
      gone += await sql.begin(async (tx) => {
        await boundStatements(tx, parts === 1 ? pageMs : part.length === 1 ? aloneMs : partMs);
        await waitForRows(tx, part.length);
        return drop(tx, part);
      });
    };
    const isEnough = () => (parts === 0 || parts >= partsAlways) && timeIsUp();
    await tryInHalves({ sql, log, consumer: "forget" }, page, dropSome, isEnough);
    if (page.length < most) break;
    tried = page;
  }
  return gone;
}

/**
 * The item of a quarantine entry for a row: its table, and its key as other readers of the table
 * write it.
 */
export const oldRowName = (tx: Tx, table: string, key: postgres.PendingQuery<postgres.Row[]>) =>
  tx`${`${table} `}::text || ${key}`;
