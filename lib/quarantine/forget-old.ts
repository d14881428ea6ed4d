import type postgres from "postgres";
import { boundStatements } from "../db/bounded.ts";
import type { Sql, Tx } from "../db/connect.ts";
import { waitForRows } from "../db/locks.ts";
import type { Log } from "../log/log.ts";
import { allListedAgain, type Tried, tryInHalves } from "./try-rows.ts";

/** Rows of one table that are kept for a time, and are of no use to any part after it. */
export interface OldRows<Row extends Tried> {
  /** The oldest of those whose time is over and that do not wait aside. */
  list: (sql: Sql, most: number) => PromiseLike<Row[]>;
  /** Deletes them, unless they have become young again since; returns how many. */
  drop: (tx: Tx, rows: readonly Row[]) => PromiseLike<number>;
  /** Listed and deleted together. */
  most: number;
}

/** A page takes some hundredths of a second. */
const pageMs = 1_000;
const partMs = 200;
/** Longer than a lock is waited for, so that the reason says that it was a lock. */
const aloneMs = 700;
/** To find one bad row of a page takes about this many parts: they are not interrupted, or they would begin again with the next tick. */
const partsAlways = 30;

/**
 * Deletes rows whose time is over, page by page. A row that cannot be deleted is set aside, and keeps no other from going. Returns how many
 * went.
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

/** How an entry of the quarantine names a row: its table, and its key as the table's other readers write it. */
export const oldRowName = (tx: Tx, table: string, key: postgres.PendingQuery<postgres.Row[]>) =>
  tx`${`${table} `}::text || ${key}`;
