import postgres from "postgres";
import { arrayOid, sendable } from "./array-types.ts";
import type { Line } from "./line.ts";
import { ownTime, ownTimeMax } from "./own-time.ts";
import type { Borrowed, Pool } from "./pool.ts";
import { failedSocket } from "./socket.ts";
import { sqlState } from "./sql-state.ts";
import { handlerOf, isStatement, type Statement } from "./statement.ts";

/** Runs statements: the pool itself, or a transaction. Tagged templates, fragments and helpers are those of the postgres package. */
export type Tx = postgres.ISql;

export type TransactionMode =
  | "read only"
  | "isolation level repeatable read"
  | "isolation level serializable";

/** One connection, that nobody else uses meanwhile. Statements run outside a transaction, where `begin` makes none. */
export interface Session extends Tx {
  begin: Sql["begin"];
}

export interface Sql extends Tx {
  /**
   * Runs `work` in a transaction of its own and commits it, or rolls it back when `work` throws. A statement that failed inside fails
   * the whole, also when `work` caught its error. When the connection is lost, what `work` still sends is refused.
   */
  begin<T>(work: (tx: Tx) => Promise<T>, mode?: TransactionMode): Promise<T>;
  /**
   * The same for work whose first statement only reads: it travels with the `begin`, and is a round trip less. Should that be refused, the
   * statement beside it runs by itself; what follows is not sent.
   */
  beginByReading<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /**
   * Gives `work` a connection of its own, for what lasts as long as a connection: a lock of the session, a setting. It is closed afterwards,
   * and with it goes what `work` has left on it; a statement that is still under way is not waited for beyond five seconds.
   */
  alone<T>(work: (session: Session) => Promise<T>): Promise<T>;
  /** Waits up to five seconds for what is under way, then closes every connection. */
  end(): Promise<void>;
}

/** Told of a transaction that has waited for this program for longer than `ownTimeMax`. */
export interface Watch {
  now: () => number;
  onLong: (ms: number) => void;
}

const unwatched: Watch = { now: () => 0, onLong: () => {} };

export function makeSql(pool: Pool, watch: Watch = unwatched): Sql {
  // Makes statements and never runs one: each is routed to a line when it is first awaited.
  const builderOptions = {
    max: 1,
    socket: () => Promise.resolve(failedSocket(new Error("Carillon does not use this part of the driver."))),
  };
  const builder = postgres(builderOptions);
  handlerOf(builder`select`);

  return Object.assign(statementsOver(builder, pool.run), {
    begin: async <T>(work: (tx: Tx) => Promise<T>, mode?: TransactionMode) => {
      const borrowed = await pool.borrow();
      return transaction(builder, borrowed, work, { mode, watch });
    },
    beginByReading: async <T>(work: (tx: Tx) => Promise<T>) => {
      const borrowed = await pool.borrow();
      return transaction(builder, borrowed, work, { readsFirst: true, watch });
    },
    alone: async <T>(work: (session: Session) => Promise<T>) => {
      const borrowed = await pool.borrow();
      try {
        return await work(sessionOver(builder, borrowed.line));
      } finally {
        if (!borrowed.line.isLost()) borrowed.discard();
      }
    },
    end: pool.end,
  });
}

function sessionOver(builder: postgres.Sql, line: Line): Session {
  // Kept for the whole session, however its transactions end.
  const kept: Borrowed = { line, handBack: () => {}, discard: () => {} };
  return Object.assign(
    statementsOver(builder, (statement) => line.run(statement)),
    {
      begin: <T>(work: (tx: Tx) => Promise<T>, mode?: TransactionMode) =>
        transaction(builder, kept, work, { mode }),
    },
  );
}

async function transaction<T>(
  builder: postgres.Sql,
  borrowed: Borrowed,
  work: (tx: Tx) => Promise<T>,
  {
    mode,
    readsFirst = false,
    watch = unwatched,
  }: { mode?: TransactionMode | undefined; readsFirst?: boolean; watch?: Watch },
): Promise<T> {
  let over = false;
  let failure: unknown;
  const own = ownTime(watch.now);
  const send = (statement: Statement) => {
    own.sent();
    statement.then(own.answered, (error: unknown) => {
      own.answered();
      if (sqlState(error) !== "failed_transaction") failure = error;
    });
    borrowed.line.run(statement);
  };
  // Of work that does several things at once, one may go on after another has failed: behind the rollback it would not be undone.
  const route = (statement: Statement) => {
    if (over) statement.reject(new Error("The transaction of this statement has already ended."));
    else send(statement);
  };
  const control = statementsOver(builder, send);

  try {
    const begun = control.unsafe(`begin ${mode ?? "isolation level read committed"}`).execute();
    if (!readsFirst) await begun;
    const result = await work(statementsOver(builder, readsFirst ? besideBegin(begun, route) : route));
    // Outside a transaction "commit" is answered as within one.
    await begun;
    over = true;
    const { command } = await control.unsafe("commit");
    // A transaction in which a statement failed answers to "commit" with "ROLLBACK", and with no error.
    if (command !== "COMMIT") throw failure ?? new Error(`The transaction ended with ${command}.`);
    borrowed.handBack();
    return result;
  } catch (error) {
    over = true;
    await rollBack(borrowed, control);
    // Of statements that were sent together the first to be heard may be one that was refused because another had failed.
    throw sqlState(error) === "failed_transaction" ? (failure ?? error) : error;
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
  // Whoever began hears of it.
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

async function rollBack(borrowed: Borrowed, tx: Tx): Promise<void> {
  if (borrowed.line.isLost()) return;
  try {
    await tx.unsafe("rollback");
    borrowed.handBack();
  } catch {
    // The caller hears the error that led here; the server rolls back by itself when the connection goes.
    borrowed.discard();
  }
}

// The server tells a parameter's type from where it stands.
const INFERRED = 0;

/** The driver takes an array of dates for a date. So arrays in a template go by what the server expects; helpers (`sql(rows)`) are left as they are. */
function withArrays(builder: postgres.Sql, details: unknown[]): unknown[] {
  const [first, ...values] = details;
  if (!Array.isArray(first) || !("raw" in first)) return details;
  const sent = values.map((value) =>
    Array.isArray(value) && !value.some(isStatement) ? builder.typed(sendable(value), INFERRED) : value,
  );
  return [first, ...sent];
}

function statementsOver(builder: postgres.Sql, route: (statement: Statement) => void): postgres.Sql {
  const routed = (made: unknown): unknown => {
    if (isStatement(made)) made.handler = route;
    return made;
  };
  const own: Record<PropertyKey, unknown> = {
    unsafe: (...details: unknown[]) => routed(Reflect.apply(builder.unsafe, builder, details)),
    array: (values: readonly unknown[], elementOid?: number) =>
      builder.typed(sendable(values), elementOid === undefined ? INFERRED : arrayOid(elementOid)),
  };
  return new Proxy(builder, {
    apply: (_builder, _self, details) =>
      routed(Reflect.apply(builder, undefined, withArrays(builder, details))),
    get: (_builder, property) => (property in own ? own[property] : Reflect.get(builder, property)),
    set: (_builder, property, value) => {
      own[property] = value;
      return true;
    },
  });
}
