import { AsyncLocalStorage } from "node:async_hooks";
import type { Sql, TransactionMode, Tx } from "../db/connect.ts";
import { isStatement, type Statement } from "../db/statement.ts";

/** Handles the statements and transactions of a request under way. */
export interface Memory {
  statement(statement: Statement, run: (statement: Statement) => void): void;
  transaction<T>(begin: Sql["begin"], work: (tx: Tx) => Promise<T>): Promise<T>;
  isRepeating(): boolean;
  leaveOpen(): void;
}

const underWay = new AsyncLocalStorage<Memory>();

/** Recorded as the result of a transaction that failed, if its request goes on all the same. */
export class FailedStep {
  readonly failure: unknown;

  constructor(failure: unknown) {
    this.failure = failure;
  }
}

/** Thrown in place of a transaction that failed in an earlier attempt of the request. */
export class FailedBefore extends Error {
  override readonly name = "FailedBefore";
  readonly failure: unknown;

  constructor(failure: unknown) {
    super("This transaction failed in an earlier attempt of the request.");
    this.failure = failure;
  }
}

/**
 * Records a step for a transaction that failed. Without this step a repeated request would take
 * the step of a later transaction for that of the failed one. `failure` is plain data.
 */
export async function noteFailure(sql: Sql, failure: unknown): Promise<void> {
  if (underWay.getStore() === undefined) return;
  const step = new FailedStep(failure);
  try {
    if ((await sql.begin(async () => step)) === step) return;
  } catch (error) {
    if (error instanceof FailedBefore) return;
    throw error;
  }
  throw new Error("This transaction succeeded in an earlier attempt of the request, and failed now.");
}

/** Whether the request has only replayed the results of earlier attempts so far. */
export function isRepeating(): boolean {
  return underWay.getStore()?.isRepeating() ?? false;
}

/** Marks the answer as not final: it is not kept, and the same request continues from here. */
export function leaveOpen(): void {
  underWay.getStore()?.leaveOpen();
}

/** Runs `act` with this memory: every `Sql` of `rememberedSql` in `act` goes through the memory. */
export function remembering<T>(memory: Memory, act: () => Promise<T>): Promise<T> {
  return underWay.run(memory, act);
}

/**
 * The same `Sql`, except that statements and transactions of a request with a memory go through the
 * memory. Operations are built once, over this, and need no code for repeated requests, as long as
 * they write in transactions (`sql.begin`, `sql.beginByReading`).
 */
export function rememberedSql(sql: Sql): Sql {
  const routed = (made: unknown): unknown => {
    if (!isStatement(made)) return made;
    const run = made.handler;
    made.handler = (statement) => {
      const memory = underWay.getStore();
      if (memory === undefined) run(statement);
      else memory.statement(statement, run);
    };
    return made;
  };
  const begin = <T>(work: (tx: Tx) => Promise<T>, mode?: TransactionMode): Promise<T> => {
    const memory = mode === undefined ? underWay.getStore() : undefined;
    return memory === undefined ? sql.begin(work, mode) : memory.transaction(sql.begin, work);
  };
  const beginByReading = <T>(work: (tx: Tx) => Promise<T>): Promise<T> => {
    const memory = underWay.getStore();
    return memory === undefined ? sql.beginByReading(work) : memory.transaction(sql.beginByReading, work);
  };
  const own: Record<PropertyKey, unknown> = {
    begin,
    beginByReading,
    unsafe: (...details: unknown[]) => routed(Reflect.apply(sql.unsafe, sql, details)),
  };
  return new Proxy(sql, {
    apply: (_sql, _self, details) => routed(Reflect.apply(sql, undefined, details)),
    get: (_sql, property) => (property in own ? own[property] : Reflect.get(sql, property)),
  });
}
