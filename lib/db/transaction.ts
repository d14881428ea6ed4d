import type postgres from "postgres";
import { ownTime, ownTimeMax } from "./own-time.ts";
import type { Borrowed } from "./pool.ts";
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
  /** The session is reset at the end: a statement may have left something that outlasts the transaction. */
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
  /** Gets control of the connection before anything is sent on it. */
  lend?: ((lent: Lent) => void) | undefined;
}

export async function transaction<T>(
  makeTx: MakeTx,
  borrowed: Borrowed,
  work: (tx: Tx) => Promise<T>,
  { mode, readsFirst = false, watch = unwatched, lend }: TransactionOptions,
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
  // Work that does several things at once may go on after one of them has failed. A statement behind the rollback would not be undone.
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
  try {
    const begun = control.unsafe(`begin ${mode ?? "isolation level read committed"}`).execute();
    if (!readsFirst) await begun;
    const result = await work(makeTx(readsFirst ? besideBegin(begun, route) : route));
    // Outside a transaction "commit" is answered as within one.
    await begun;
    over = true;
    if (failures.unwritten !== undefined) throw failures.unwritten;
    const committed = control.unsafe("commit").execute();
    // The reset is sent together with the commit, and the caller waits for the commit alone.
    const cleared = resets ? clear(control) : undefined;
    const { command } = await committed;
    // A transaction in which a statement failed answers to "commit" with "ROLLBACK", and with no error.
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
    if (own.ms() > ownTimeMax) watch.onLong(Math.round(own.ms()));
  }
}

/** The first statement goes with the `begin`, the others once that is answered. */
function besideBegin(
  begun: Promise<unknown>,
  route: (statement: Statement) => void,
): (statement: Statement) => void {
  let isFirst = true;
  let isBegun = false;
  const noted = begun.then(() => {
    isBegun = true;
  });
  // The error reaches the caller by `begun` itself.
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

/** A line to a server that only reads is not used again: another one may lead to the writer. */
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
    // The caller hears the error that led here; the server rolls back by itself when the connection goes.
    borrowed.discard();
  }
}

/** Resets the session and keeps its plans. `discard all` would drop the plans of Carillon's functions too, and Postgres would have to make them again. */
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

/** The failures of one transaction's statements. */
class Failures {
  last: unknown;
  /** Postgres never got this statement, and so does not count the transaction as failed. */
  unwritten: UnwritableValue | undefined;

  answered(answer: unknown): void {
    if (this.unwritten === undefined) return;
    const isUndone =
      typeof answer === "object" && answer !== null && Reflect.get(answer, "command") === "ROLLBACK";
    // A rollback to a savepoint: failures behind the savepoint no longer count.
    if (isUndone) this.unwritten = undefined;
  }

  failed(error: unknown): void {
    if (sqlState(error) !== "failed_transaction") this.last = error;
    if (error instanceof UnwritableValue) this.unwritten = error;
  }

  /** Statements are sent together, and the first error to arrive may only say that an earlier statement had failed. */
  cause(error: unknown): unknown {
    return sqlState(error) === "failed_transaction" ? (this.last ?? error) : error;
  }
}

/** Runs statements: the pool itself, or a transaction. Tagged templates, fragments and helpers are those of the postgres package. */
export type Tx = postgres.ISql;

export type TransactionMode =
  | "read only"
  | "isolation level repeatable read"
  | "isolation level serializable";
