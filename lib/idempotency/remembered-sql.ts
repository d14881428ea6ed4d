import { AsyncLocalStorage } from "node:async_hooks";
import type { Sql, TransactionMode, Tx } from "../db/connect.ts";
import { isStatement, type Statement } from "../db/statement.ts";

/** What a request under way makes of its statements and transactions. */
export interface Memory {
  statement(statement: Statement, run: (statement: Statement) => void): void;
  transaction<T>(begin: Sql["begin"], work: (tx: Tx) => Promise<T>): Promise<T>;
  isRepeating(): boolean;
  leaveOpen(): void;
}

const underWay = new AsyncLocalStorage<Memory>();

/** The failure of a transaction after which its request goes on. */
export class FailedStep {
  readonly failure: unknown;

  constructor(failure: unknown) {
    this.failure = failure;
  }
}

/** Thrown in place of a transaction that failed when this request was worked before. */
export class FailedBefore extends Error {
  override readonly name = "FailedBefore";
  readonly failure: unknown;

  constructor(failure: unknown) {
    super("This transaction failed when the request was worked before.");
    this.failure = failure;
  }
}

/**
 * Notes that a transaction has failed, as a step in its place. Without it a request that is worked again would take the step of a later
 * transaction for that of this one. `failure` is plain data.
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
  throw new Error("A transaction failed that was done when the request was worked before.");
}

/** Whether the request has done nothing so far but to repeat what it came to when it was worked before. */
export function isRepeating(): boolean {
  return underWay.getStore()?.isRepeating() ?? false;
}

/** The answer to the request is not its last: it is not kept, and the same request goes on where this one ends. */
export function leaveOpen(): void {
  underWay.getStore()?.leaveOpen();
}

/** Everything that `act` does with a remembered `Sql` goes through this memory. */
export function remembering<T>(memory: Memory, act: () => Promise<T>): Promise<T> {
  return underWay.run(memory, act);
}

/**
 * The same, but that what belongs to a request with a memory goes through it. The operations know nothing of it: they are made once, over
 * this, and whoever adds one need not think of it, as long as it writes in transactions (`sql.begin`, `sql.beginByReading`).
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
