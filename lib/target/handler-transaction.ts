import type { Sql, Tx } from "../db/connect.ts";
import { ConnectionLost } from "../db/connection-lost.ts";
import { handlerOf, isStatement, type Statement } from "../db/statement.ts";
import type { AttemptStopped, Stop } from "./stop.ts";

/** The transaction of one attempt. It begins with the first statement that somebody sends, and takes a connection only then. */
export interface HandlerTransaction {
  /** For the handler; refused once the attempt is over. */
  sql: Tx;
  isOpen(): boolean;
  /** Runs `last` as the last work of the transaction, and commits; where nothing was open yet it begins with it. */
  commit<T>(last: (tx: Tx) => Promise<T>): Promise<T>;
  /** From here on nothing more is sent. Where nothing was, this is the end. */
  close(): void;
  /** Whatever was not committed is undone; resolves when that is proven, or the connection gone. */
  rollBack(): Promise<void>;
}

type Work = (tx: Tx) => Promise<unknown>;

interface Opened {
  tx: Promise<Tx>;
  ended: Promise<void>;
  /** What is done last: its rejection undoes everything. */
  last: PromiseWithResolvers<Work>;
  /** Of what the handler sent. */
  failures: Set<unknown>;
}

/** Why no more statements are taken; the error is made for who sends one all the same. */
interface Refused {
  why: string;
  cause?: unknown;
}

/** A stop ends it: from then on nothing that a handler still sends can take effect. */
export function handlerTransaction(pool: Sql, stop: Stop): HandlerTransaction {
  return new AttemptTransaction(pool, stop);
}

const attemptEnded: Refused = { why: "The attempt has ended" };

/** Most handlers send nothing: until one does, there is hardly more than this object. */
class AttemptTransaction implements HandlerTransaction {
  readonly sql: Tx;
  readonly #pool: Sql;
  readonly #stop: Stop;
  #opened: Opened | undefined;
  #over: Refused | undefined;
  /** Why statements that wait for the beginning are not sent either. */
  #undone: Error | undefined;

  constructor(pool: Sql, stop: Stop) {
    this.#pool = pool;
    this.#stop = stop;
    this.sql = new Proxy(pool, new Rerouted(this));
  }

  isOpen(): boolean {
    return this.#opened !== undefined;
  }

  async commit<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const refused = this.#refused();
    if (refused !== undefined) throw errorOf(refused);
    this.#over = { why: "The handler has ended" };
    const given = Promise.withResolvers<T>();
    given.promise.catch(() => {});
    const { last, ended, failures } = this.#open();
    last.resolve(async (tx) => {
      // A stop before the beginning has refused what the handler sent.
      if (this.#undone !== undefined) throw this.#undone;
      given.resolve(await work(tx));
    });
    try {
      await ended;
    } catch (error) {
      throw failures.has(error) && !(error instanceof ConnectionLost) ? swallowed(error) : error;
    }
    return given.promise;
  }

  close(): void {
    this.#over = this.#refused() ?? attemptEnded;
  }

  rollBack(): Promise<void> {
    return this.#undo(attemptEnded);
  }

  route(statement: Statement): void {
    const refused = this.#refused();
    if (refused !== undefined) {
      statement.reject(errorOf(refused));
      return;
    }
    const { tx, failures } = this.#open();
    statement.then(undefined, (error: unknown) => {
      failures.add(error);
    });
    tx.then(
      (begun) =>
        this.#undone === undefined ? handlerOf(begun`select`)(statement) : statement.reject(this.#undone),
      statement.reject,
    );
  }

  #open(): Opened {
    if (this.#opened === undefined) {
      this.#opened = begin(this.#pool);
      this.#stop.tell((reason) => void this.#undo(stopped(reason)));
    }
    return this.#opened;
  }

  /** A stop that came before anything was sent has told nobody here. */
  #refused(): Refused | undefined {
    if (this.#over === undefined && this.#stop.reason !== undefined) this.#over = stopped(this.#stop.reason);
    return this.#over;
  }

  async #undo(because: Refused): Promise<void> {
    this.#over = this.#refused() ?? because;
    if (this.#opened === undefined) return;
    this.#undone ??= errorOf(this.#over);
    this.#opened.last.reject(this.#undone);
    await this.#opened.ended.catch(() => {});
  }
}

function stopped(reason: AttemptStopped): Refused {
  return { why: "The attempt was stopped", cause: reason.copy() };
}

function errorOf({ why, cause }: Refused): Error {
  return new Error(`${why}: ctx.sql takes no more statements.`, cause === undefined ? {} : { cause });
}

function begin(pool: Sql): Opened {
  const last = Promise.withResolvers<Work>();
  last.promise.catch(() => {});
  const begun = Promise.withResolvers<Tx>();
  begun.promise.catch(() => {});
  const ended = pool.begin(async (tx) => {
    begun.resolve(tx);
    const work = await last.promise;
    await work(tx);
  });
  ended.catch(begun.reject);
  return { tx: begun.promise, ended, last, failures: new Set() };
}

function swallowed(failure: unknown): Error {
  const cause = failure instanceof Error ? failure.message : String(failure);
  return new Error(
    `A statement of ctx.sql had failed, so Postgres could commit nothing of its transaction: ${cause}`,
    { cause: failure },
  );
}

/** All else that a pool has reaches beyond the transaction of one attempt, or ends what others use. */
const given: ReadonlySet<string> = new Set(["array", "json", "typed", "types", "unsafe"]);

/** Makes statements as the pool does, and has each of them go another way. */
class Rerouted implements ProxyHandler<Sql> {
  readonly #transaction: AttemptTransaction;

  constructor(transaction: AttemptTransaction) {
    this.#transaction = transaction;
  }

  apply(pool: Sql, _self: unknown, details: unknown[]): unknown {
    refuseControl(details[0]);
    return this.#reroute(Reflect.apply(pool, undefined, details));
  }

  get(pool: Sql, property: string | symbol): unknown {
    if (typeof property === "string" && !given.has(property)) return undefined;
    const member: unknown = Reflect.get(pool, property);
    if (property !== "unsafe" || typeof member !== "function") return member;
    return (...details: unknown[]) => {
      refuseControl(details[0]);
      return this.#reroute(Reflect.apply(member, pool, details));
    };
  }

  /** The pool is every handler's. */
  set(): boolean {
    return false;
  }

  defineProperty(): boolean {
    return false;
  }

  deleteProperty(): boolean {
    return false;
  }

  #reroute(made: unknown): unknown {
    if (isStatement(made)) made.handler = (statement) => this.#transaction.route(statement);
    return made;
  }
}

const control =
  /^\s*(?:begin|start\s+transaction|commit|end|abort|rollback(?!\s+(?:(?:work|transaction)\s+)?to\b)|prepare\s+transaction)\b/i;

/** Settings of the session outlive the transaction: the next job on this connection would run and be settled with them. */
const session =
  /^\s*(?:set\s+(?!local\b|transaction\b|constraints\b)|(?:reset|discard|listen|unlisten)\s+\w)/i;

/** The end of the transaction is the job's own: one that ended early would settle the job apart from what was written. */
function refuseControl(text: unknown): void {
  const first: unknown = Array.isArray(text) && "raw" in text ? text[0] : text;
  if (typeof first !== "string") return;
  if (control.test(first))
    throw new TypeError(
      "ctx.sql is one transaction, which commits when the handler returns and rolls back when it throws.",
    );
  if (session.test(first))
    throw new TypeError(
      "ctx.sql has its connection for one transaction: use `set local`, which ends with it.",
    );
}
