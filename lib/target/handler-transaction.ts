import type { Sql, Tx } from "../db/connect.ts";
import { ConnectionLost } from "../db/connection-lost.ts";
import { handlerOf, isStatement, type Statement } from "../db/statement.ts";

/** The transaction of one attempt. It begins with the first statement that somebody sends, and takes a connection only then. */
export interface HandlerTransaction {
  /** For the handler; refused once the attempt is over. */
  sql: Tx;
  isOpen(): boolean;
  /** Runs `last` as the last work of the transaction, and commits; where nothing was open yet it begins with it. */
  commit<T>(last: (tx: Tx) => Promise<T>): Promise<T>;
  /** Whatever was not committed is undone; resolves when that is proven, or the connection gone. */
  rollBack(): Promise<void>;
}

type Work = (tx: Tx) => Promise<unknown>;

/** `signal` ends it: from then on nothing that a handler still sends can take effect. */
export function handlerTransaction(pool: Sql, signal: AbortSignal): HandlerTransaction {
  const last = Promise.withResolvers<Work>();
  last.promise.catch(() => {});
  let opened: { tx: Promise<Tx>; ended: Promise<void> } | undefined;
  /** Why it takes no more statements, and why those that wait for its beginning are not sent either. */
  let over: Error | undefined;
  let undone: Error | undefined;
  /** Of what the handler sent. */
  const failures = new Set<unknown>();

  const open = () => {
    opened ??= begin(pool, last.promise);
    return opened;
  };
  const route = (statement: Statement) => {
    if (over !== undefined) return statement.reject(over);
    statement.then(undefined, (error: unknown) => {
      failures.add(error);
    });
    open().tx.then(
      (tx) => (undone === undefined ? handlerOf(tx`select`)(statement) : statement.reject(undone)),
      statement.reject,
    );
  };
  const undo = async (reason: Error) => {
    over ??= reason;
    undone ??= over;
    last.reject(undone);
    await opened?.ended.catch(() => {});
  };
  const onAbort = () => {
    const reason = "The attempt was stopped: ctx.sql takes no more statements.";
    void undo(new Error(reason, { cause: signal.reason }));
  };
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });

  return {
    sql: routed(pool, route),
    isOpen: () => opened !== undefined,
    commit: async <T>(work: (tx: Tx) => Promise<T>) => {
      if (over !== undefined) throw over;
      over = new Error("The handler has ended: ctx.sql takes no more statements.");
      const given = Promise.withResolvers<T>();
      given.promise.catch(() => {});
      last.resolve((tx) => work(tx).then(given.resolve));
      try {
        await open().ended;
      } catch (error) {
        throw failures.has(error) && !(error instanceof ConnectionLost) ? swallowed(error) : error;
      }
      return given.promise;
    },
    rollBack: () => undo(new Error("The attempt has ended: ctx.sql takes no more statements.")),
  };
}

function begin(pool: Sql, last: Promise<Work>): { tx: Promise<Tx>; ended: Promise<void> } {
  const begun = Promise.withResolvers<Tx>();
  begun.promise.catch(() => {});
  const ended = pool.begin(async (tx) => {
    begun.resolve(tx);
    const work = await last;
    await work(tx);
  });
  ended.catch(begun.reject);
  return { tx: begun.promise, ended };
}

function swallowed(failure: unknown): Error {
  const cause = failure instanceof Error ? failure.message : String(failure);
  return new Error(
    `A statement of ctx.sql had failed, so Postgres could commit nothing of its transaction: ${cause}`,
    { cause: failure },
  );
}

/** Makes statements as the pool does, and has each of them go another way. */
function routed(pool: Sql, route: (statement: Statement) => void): Tx {
  const rerouted = (made: unknown): unknown => {
    if (isStatement(made)) made.handler = route;
    return made;
  };
  return new Proxy(pool, {
    apply: (_pool, _self, details: unknown[]) => {
      refuseControl(details[0]);
      return rerouted(Reflect.apply(pool, undefined, details));
    },
    get: (_pool, property) => {
      if (property === "begin" || property === "end") return undefined;
      const member: unknown = Reflect.get(pool, property);
      if (property !== "unsafe" || typeof member !== "function") return member;
      return (...details: unknown[]) => {
        refuseControl(details[0]);
        return rerouted(Reflect.apply(member, pool, details));
      };
    },
  });
}

const control =
  /^\s*(?:begin|start\s+transaction|commit|end|abort|rollback(?!\s+(?:(?:work|transaction)\s+)?to\b)|prepare\s+transaction)\b/i;

/** The end of the transaction is the job's own: one that ended early would settle the job apart from what was written. */
function refuseControl(text: unknown): void {
  const first: unknown = Array.isArray(text) ? text[0] : text;
  if (typeof first === "string" && control.test(first))
    throw new TypeError(
      "ctx.sql is one transaction, which commits when the handler returns and rolls back when it throws.",
    );
}
