import type postgres from "postgres";
import { ownTime, ownTimeMax } from "./own-time.ts";
import type { Borrowed } from "./pool.ts";
import { cutAtEnd, type RequestTime, sendBegin } from "./request-time.ts";
import { sqlState } from "./sql-state.ts";
import type { Statement } from "./statement.ts";
import { UnwritableValue } from "./unwritable.ts";

/** Reports a transaction that has waited for this program for longer than `ownTimeMax`. */
export interface Watch {
  now: () => number;
  onLong: (ms: number) => void;
}

const unwatched: Watch = { now: () => 0, onLong: () => {} };

/** Control of the connection for a transaction that runs a user's code. */
export interface Lent {
  /** Resets the session at the end: a statement may have left state that outlasts the transaction. */
  resetAfter(): void;
  /** Ends the connection at once: nothing more is answered on it. */
  cut(why: string): void;
}

/** Makes an `sql` whose statements go through `route`. */
export type MakeTx = (route: (statement: Statement) => void) => Tx;

export interface TransactionOptions {
  mode?: TransactionMode | undefined;
  readsFirst?: boolean;
  watch?: Watch;
  /** Gets control of the connection before any statement is sent on it. */
  lend?: ((lent: Lent) => void) | undefined;
  /** The request to which it belongs. */
  time?: RequestTime | undefined;
}

export async function transaction<T>(
  makeTx: MakeTx,
  borrowed: Borrowed,
  work: (tx: Tx) => Promise<T>,
  { mode, readsFirst = false, watch = unwatched, lend, time }: TransactionOptions,
): Promise<T> {
  let over = false;
  let resets = false;
  const own = ownTime(watch.now);
  const failures = new Failures();
  const send = (statement: Statement) => {
    own.sent();
    statement.then(
      (answer) => {
        own.answered();
        failures.answered(answer);
      },
      (error: unknown) => {
        own.answered();
        failures.failed(error);
      },
    );
    borrowed.line.run(statement);
  };
  // Concurrent work may continue after a part of it has failed. A statement after the rollback
  // would not be undone.
  const route = (statement: Statement) => {
    if (over) statement.reject(new Error("The transaction of this statement has already ended."));
    else send(statement);
  };
  const control = makeTx(send);
  const lent: Lent = {
    resetAfter: () => {
      resets = true;
    },
    cut: (why) => borrowed.line.cut(why),
  };

  lend?.(lent);
  const inTime = cutAtEnd(time, lent.cut);
  try {
    const begun = sendBegin(control, time, mode);
    if (!readsFirst) await begun;
    const result = await work(makeTx(readsFirst ? besideBegin(begun, route) : route));
    // Outside a transaction the server answers "commit" as within one.
    await begun;
    if (time?.seat !== undefined) time.seat.isTaken = true;
    over = true;
    if (failures.unwritten !== undefined) throw failures.unwritten;
    const committed = control.unsafe("commit").execute();
    // The reset is sent together with the commit, and the caller waits for the commit alone.
    const cleared = resets ? clear(control) : undefined;
    const { command } = await committed;
    // The server answers "commit" of a failed transaction with "ROLLBACK", and with no error.
    if (command !== "COMMIT") throw failures.last ?? new Error(`The transaction ended with ${command}.`);
    if (cleared === undefined) borrowed.handBack();
    else cleared.then(borrowed.handBack, borrowed.discard);
    return result;
  } catch (error) {
    over = true;
    const cause = failures.cause(error);
    await rollBack(borrowed, control, { resets, isReader: sqlState(cause) === "read_only" });
    throw cause;
  } finally {
    inTime();
    if (own.ms() > ownTimeMax) watch.onLong(Math.round(own.ms()));
  }
}

/** Sends the first statement together with the `begin`, and the others once that is answered. */
function besideBegin(
  begun: Promise<unknown>,
  route: (statement: Statement) => void,
): (statement: Statement) => void {
  let isFirst = true;
  let isBegun = false;
  const noted = begun.then(() => {
    isBegun = true;
  });
  // The caller gets this error from `begun` itself.
  noted.catch(() => {});
  return (statement) => {
    if (isFirst || isBegun) {
      isFirst = false;
      return route(statement);
    }
    noted.then(
      () => route(statement),
      (error: unknown) => statement.reject(error),
    );
  };
}

/** A line to a read-only server is not used again: a new one may lead to the writer. */
async function rollBack(
  borrowed: Borrowed,
  tx: Tx,
  { resets, isReader }: { resets: boolean; isReader: boolean },
): Promise<void> {
  if (borrowed.line.isLost()) return;
  try {
    await Promise.all([tx.unsafe("rollback"), resets ? clear(tx) : undefined]);
    if (isReader) borrowed.discard();
    else borrowed.handBack();
  } catch {
    // The caller gets the error that led here. The server rolls back by itself when the connection
    // ends.
    borrowed.discard();
  }
}

/**
 * Resets the session and keeps its plans. `discard all` would drop the plans of Carillon's
 * functions too, and Postgres would have to make them again.
 */
function clear(tx: Tx): Promise<unknown> {
  const cleared = tx
    .unsafe(
      `set session authorization default; reset all; close all; select pg_advisory_unlock_all(); discard temp`,
    )
    .execute();
  // A failed commit is followed by a rollback, which sends the reset again and reports its error.
  cleared.catch(() => {});
  return cleared;
}

/** The failures of the statements of one transaction. */
class Failures {
  last: unknown;
  /** A statement that was never sent, so Postgres does not count the transaction as failed. */
  unwritten: UnwritableValue | undefined;

  answered(answer: unknown): void {
    if (this.unwritten === undefined) return;
    const isUndone =
      typeof answer === "object" && answer !== null && Reflect.get(answer, "command") === "ROLLBACK";
    // A rollback to a savepoint: failures after the savepoint no longer count.
    if (isUndone) this.unwritten = undefined;
  }

  failed(error: unknown): void {
    if (sqlState(error) !== "failed_transaction") this.last = error;
    if (error instanceof UnwritableValue) this.unwritten = error;
  }

  /**
   * Statements are sent together, so the first error to arrive may only say that an earlier
   * statement had failed.
   */
  cause(error: unknown): unknown {
    return sqlState(error) === "failed_transaction" ? (this.last ?? error) : error;
  }
}

/**
 * Runs statements: on the pool, or in a transaction. Tagged templates, fragments and helpers are
 * those of the postgres package.
 */
export type Tx = postgres.ISql;

export type TransactionMode =
  | "read only"
  | "isolation level repeatable read"
  | "isolation level serializable";
