import postgres from "postgres";
import type { Line } from "./line.ts";
import type { Borrowed, Pool } from "./pool.ts";
import { cutAtEnd, type RequestTime, refusalOf, requestTime, sendBegin, shortened } from "./request-time.ts";
import { failedSocket } from "./socket.ts";
import { sqlState } from "./sql-state.ts";
import { handlerOf, isStatement, type Statement } from "./statement.ts";
import {
  type Lent,
  type MakeTx,
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

export interface SqlOptions {
  watch?: Watch | undefined;
  /** The longest time of a transaction; no limit if left out. */
  transactionMs?: number | undefined;
}

export function makeSql(pool: Pool, { watch, transactionMs }: SqlOptions = {}): Sql {
  // Makes statements and never runs one: each is routed to a line when it is first awaited.
  const builderOptions = {
    max: 1,
    socket: () => Promise.resolve(failedSocket(new Error("Carillon does not use this part of the driver."))),
  };
  const builder = postgres(builderOptions);
  handlerOf(builder`select`);

  const makeTx = (route: (statement: Statement) => void) => statementsOver(builder, route);
  const begin = async <T>(work: (tx: Tx) => Promise<T>, options: TransactionOptions): Promise<T> => {
    const time = requestTime();
    const borrowed = await borrowInTime(pool, time);
    const own = transactionMs === undefined ? time : shortened(time, transactionMs);
    return transaction(makeTx, borrowed, work, { ...options, time: own, ...(watch && { watch }) });
  };
  const run = (statement: Statement) => {
    const time = requestTime();
    if (time === undefined || time.statementMs === null) pool.run(statement, time);
    else void runBounded(pool, makeTx, statement, time);
  };

  return Object.assign(statementsOver(builder, run), {
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

/** The wait for a connection may outlast the request, and nothing is sent then. */
async function borrowInTime(pool: Pool, time: RequestTime | undefined): Promise<Borrowed> {
  const borrowed = await pool.borrow();
  const late = refusalOf(time);
  if (late === undefined) return borrowed;
  borrowed.handBack();
  throw late;
}

/**
 * Runs a statement in a transaction of its own, which limits its time. Begin, statement and commit
 * are sent together and take one round trip.
 */
async function runBounded(
  pool: Pool,
  makeTx: MakeTx,
  statement: Statement,
  time: RequestTime,
): Promise<void> {
  let borrowed: Borrowed;
  try {
    borrowed = await borrowInTime(pool, time);
  } catch (error) {
    return statement.reject(error);
  }
  const { line, handBack, discard } = borrowed;
  const inTime = cutAtEnd(time, line.cut);
  // `execute` sends a moment later, and the statement has to follow `begin`.
  const opening = makeTx((begin) => {
    line.run(begin);
    line.run(statement);
  });
  const begun = sendBegin(opening, time);
  // After a failed statement the server answers "commit" with "ROLLBACK", and with no error.
  const ended = makeTx(line.run).unsafe("commit").execute();
  // The caller continues when the work of the statement is committed.
  const { resolve, reject } = statement;
  statement.resolve = (rows) => void ended.then(() => resolve(rows), reject);
  // After a refused `begin` the server says of the statement only that its transaction has failed. Both
  // answers may come in one message.
  statement.reject = (error) =>
    void begun.then(
      () => reject(error),
      (refused: unknown) => reject(sqlState(error) === "failed_transaction" ? refused : error),
    );
  try {
    await Promise.all([begun, ended]);
    handBack();
  } catch {
    if (!line.isLost()) discard();
  } finally {
    inTime();
  }
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
