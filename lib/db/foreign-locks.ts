import { lockClasses } from "./locks.ts";
import type { Tx } from "./transaction.ts";

/** A session of another program that holds advisory locks of Carillon's classes. */
export interface ForeignLock {
  /** Null for a prepared transaction, which has a name instead. */
  pid: number | null;
  prepared: string | null;
  user: string;
  classes: number[];
  /** The begin of its transaction, or of the session outside of one; null if the owner may not see it. */
  since: Date | null;
  /** The time from then until now. */
  openMs: number | null;
}

/** Sessions that are counted; one more is read. One is enough to stop Carillon. */
export const foreignLocksMax = 20;

/** The sessions of other programs that hold Carillon's locks now, the oldest first. */
export async function readForeignLocks(sql: Tx): Promise<ForeignLock[]> {
  const classes = Object.keys(lockClasses).map(Number);
  return await sql<ForeignLock[]>`
    select f.*, round(extract(epoch from clock_timestamp() - f.since) * 1000)::float8 as "openMs"
    from carillon.foreign_locks(${classes}::int[], ${foreignLocksMax + 1}::int) f`;
}

/** The classes of its locks, as in `gates of edits (2), commands (7)`. */
export const lockNames = ({ classes }: Pick<ForeignLock, "classes">): string =>
  classes.map((each) => `${lockClasses[each]} (${each})`).join(", ");

/** The name by which an engineer ends it. */
export const holderName = ({ pid, prepared }: ForeignLock): string =>
  prepared === null ? `process ${pid}` : `prepared transaction ${prepared}`;
