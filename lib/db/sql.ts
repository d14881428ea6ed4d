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
   * As `begin`, for a user's code. `lend` gets control of the connection before the transaction begins. After `resetAfter` or `cut` no later
   * transaction meets settings or locks of that code.
   */
  beginLent<T>(work: (tx: Tx) => Promise<T>, lend: (lent: Lent) => void): Promise<T>;
  /**
   * Gives `work` a connection of its own, for what lasts as long as a connection: a lock of the session, a setting. It is closed afterwards,
   * and with it goes what `work` has left on it; a statement that is still under way is not waited for beyond five seconds.
   */
  alone<T>(work: (session: Session) => Promise<T>): Promise<T>;
  /** Waits up to five seconds for what is under way, then closes every connection. */
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
    if (isStatement(made)) {
      made.handler = route;
      // The driver's own would connect elsewhere, and take the next statement's answer for that of one that waited.
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
