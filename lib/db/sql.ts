import postgres from "postgres";
import type { Line } from "./line.ts";
import type { Borrowed, Pool } from "./pool.ts";
import { failedSocket } from "./socket.ts";
import { handlerOf, isStatement, type Statement } from "./statement.ts";
import {
  type Lent,
  type TransactionMode,
  type TransactionOptions,
  type Tx,
  transaction,
  type Watch,
} from "./transaction.ts";
import { arrayOid, sendable } from "./value-types.ts";

export type { Watch } from "./transaction.ts";

/**
 * A connection for one caller alone. Statements run outside a transaction, except within `begin`.
 */
export interface Session extends Tx {
  begin: Sql["begin"];
}

export interface Sql extends Tx {
  /**
   * Runs `work` in a transaction of its own and commits it, or rolls it back when `work` throws. A
   * statement that failed inside fails the whole, even when `work` caught its error. After the
   * connection is lost, later statements of `work` are refused.
   */
  begin<T>(work: (tx: Tx) => Promise<T>, mode?: TransactionMode): Promise<T>;
  /**
   * As `begin`, for work whose first statement only reads. That statement is sent together with
   * `begin`, which saves a round trip. If the server refuses `begin`, the first statement runs
   * outside a transaction, and the others are not sent.
   */
  beginByReading<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /**
   * As `begin`, for a user's code. `lend` gets control of the connection before the transaction
   * begins. After `resetAfter` or `cut` no later transaction meets settings or locks of that code.
   */
  beginLent<T>(work: (tx: Tx) => Promise<T>, lend: (lent: Lent) => void): Promise<T>;
  /**
   * Gives `work` a connection of its own, for state that lives as long as a connection: a session
   * lock, a setting. The connection is closed afterwards, with all of that state. A statement that
   * is still running has five seconds to end.
   */
  alone<T>(work: (session: Session) => Promise<T>): Promise<T>;
  /** Waits up to five seconds for running statements, then closes every connection. */
  end(): Promise<void>;
}

export function makeSql(pool: Pool, watch?: Watch): Sql {
  // Makes statements and never runs one: each is routed to a line when it is first awaited.
  const builderOptions = {
    max: 1,
    socket: () => Promise.resolve(failedSocket(new Error("Carillon does not use this part of the driver."))),
  };
  const builder = postgres(builderOptions);
  handlerOf(builder`select`);

  const makeTx = (route: (statement: Statement) => void) => statementsOver(builder, route);
  const begin = async <T>(work: (tx: Tx) => Promise<T>, options: TransactionOptions): Promise<T> => {
    const borrowed = await pool.borrow();
    return transaction(makeTx, borrowed, work, watch === undefined ? options : { ...options, watch });
  };

  return Object.assign(statementsOver(builder, pool.run), {
    begin: <T>(work: (tx: Tx) => Promise<T>, mode?: TransactionMode) => begin(work, { mode }),
    beginByReading: <T>(work: (tx: Tx) => Promise<T>) => begin(work, { readsFirst: true }),
    beginLent: <T>(work: (tx: Tx) => Promise<T>, lend: (lent: Lent) => void) => begin(work, { lend }),
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
        transaction((route) => statementsOver(builder, route), kept, work, { mode }),
    },
  );
}

// The server infers the type of the parameter from its position.
const INFERRED = 0;

/**
 * The driver would send an array of dates as a date. So arrays in a template are typed by the
 * server; helpers (`sql(rows)`) are left as they are.
 */
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
    if (isStatement(made)) {
      made.handler = route;
      // The driver's own canceller would open another connection, and give the next statement's
      // answer to a statement that waited.
      made.canceller = null;
    }
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
