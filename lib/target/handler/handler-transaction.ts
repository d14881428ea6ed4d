import type { AlarmClock } from "../../clock.ts";
import { answerMs } from "../../config/function-connections.ts";
import type { Sql, Tx } from "../../db/connect.ts";
import { ConnectionLost } from "../../db/connection-lost.ts";
import { handlerOf, type Statement } from "../../db/statement.ts";
import type { Lent } from "../../db/transaction.ts";
import type { AttemptStopped, Stop } from "../stop.ts";
import { readStatement } from "./handler-text.ts";
import { isStreaming, LeftOpen } from "./left-open.ts";
import { Rerouted, type Route } from "./rerouted.ts";

/**
 * The transaction of one attempt. It begins with the first statement, and takes a connection only
 * then.
 */
export interface HandlerTransaction {
  /** For the handler; refused once the attempt is over. */
  sql: Tx;
  isOpen(): boolean;
  /**
   * Runs `last` at the end of the transaction, and commits. If no transaction is open it begins
   * one.
   */
  commit<T>(last: (tx: Tx) => Promise<T>): Promise<T>;
  /** Refuses further statements. If none was sent, this ends the transaction. */
  close(): void;
  /**
   * Rolls back what was not committed. Resolves when the server has confirmed it, or the connection
   * is gone; a connection that does not answer in time is cut.
   */
  rollBack(): Promise<void>;
}

type Work = (tx: Tx) => Promise<unknown>;

interface Opened {
  /** Defined once there is a connection: before the transaction has begun on it. */
  readonly lent: Lent | undefined;
  begun: Promise<Tx>;
  ended: Promise<void>;
  /** The last work of the transaction; its rejection rolls everything back. */
  last: PromiseWithResolvers<Work>;
  /** Failures of the handler's statements. */
  failures: Set<unknown>;
  underWay: Set<Statement>;
}

/**
 * Why no more statements are taken. The error is made only for a statement that is sent all the
 * same.
 */
interface Refused {
  why: string;
  cause?: unknown;
}

/** A stop ends the transaction: later statements of the handler take no effect. */
export function handlerTransaction(
  pool: Sql,
  stop: Stop,
  clock: Pick<AlarmClock, "alarm">,
): HandlerTransaction {
  return new AttemptTransaction(pool, stop, clock);
}

const attemptEnded: Refused = { why: "The attempt has ended" };
const left = "The handler left a cursor or a copy open";

/** Most handlers send no statement. Until the first one, this object is nearly the whole cost. */
class AttemptTransaction implements HandlerTransaction, Route {
  readonly sql: Tx;
  readonly #pool: Sql;
  readonly #stop: Stop;
  readonly #clock: Pick<AlarmClock, "alarm">;
  #opened: Opened | undefined;
  #over: Refused | undefined;
  /** Why statements that wait for the transaction to begin are not sent either. */
  #undone: Error | undefined;
  #leftOpen: LeftOpen | undefined;

  constructor(pool: Sql, stop: Stop, clock: Pick<AlarmClock, "alarm">) {
    this.#pool = pool;
    this.#stop = stop;
    this.#clock = clock;
    this.sql = new Proxy(pool, new Rerouted(this));
  }

  get leftOpen(): LeftOpen {
    this.#leftOpen ??= new LeftOpen();
    return this.#leftOpen;
  }

  isOpen(): boolean {
    return this.#opened !== undefined;
  }

  async commit<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const refused = this.#refused();
    if (refused !== undefined) throw errorOf(refused);
    if (this.#leftOpen?.isAny()) throw this.#cut(left);
    this.#over = { why: "The handler has ended" };
    const given = Promise.withResolvers<T>();
    given.promise.catch(() => {});
    const { last, ended, failures } = this.#open();
    last.resolve(async (tx) => {
      // A stop before the transaction began has refused the handler's statements.
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
    const { refusal, mayOutlast } = readStatement(statement);
    if (refusal !== null) {
      statement.reject(new TypeError(refusal));
      return;
    }
    // The simple protocol would take several statements in one text, of which only the first was
    // checked.
    if (!isStreaming(statement)) statement.options.simple = false;
    const opened = this.#open();
    const { begun, failures, underWay } = opened;
    underWay.add(statement);
    this.leftOpen.sent(statement);
    statement.then(
      () => {
        underWay.delete(statement);
      },
      (error: unknown) => {
        underWay.delete(statement);
        failures.add(error);
      },
    );
    begun.then((tx) => {
      if (this.#undone !== undefined) return statement.reject(this.#undone);
      if (mayOutlast) opened.lent?.resetAfter();
      handlerOf(tx`select`)(statement);
    }, statement.reject);
  }

  /**
   * A statement under way is ended by cutting the connection: the driver's own cancel may reach a
   * later statement of the server.
   */
  cancel(statement: Statement): void {
    if (this.#opened?.underWay.has(statement)) {
      const error = this.#cut("A statement was cancelled");
      const reject = () => statement.reject(error);
      this.#opened.begun.then(reject, reject);
      return;
    }
    statement.handler = () => {};
    statement.reject(new Error("The statement was cancelled before it was sent."));
    statement.then(undefined, () => {});
  }

  /** Cuts the connection, because no further statement would be answered in time. */
  #cut(why: string): Error {
    this.#over = this.#refused() ?? { why };
    this.#undone ??= errorOf(this.#over);
    this.#opened?.last.reject(this.#undone);
    this.#opened?.lent?.cut(why);
    return this.#undone;
  }

  #open(): Opened {
    if (this.#opened === undefined) {
      this.#opened = begin(this.#pool);
      this.#stop.tell((reason) => void this.#undo(stopped(reason)));
    }
    return this.#opened;
  }

  /**
   * Why statements are refused; undefined if they are not. Also notes a stop that came before the
   * first statement.
   */
  #refused(): Refused | undefined {
    if (this.#over === undefined && this.#stop.reason !== undefined) this.#over = stopped(this.#stop.reason);
    return this.#over;
  }

  async #undo(because: Refused): Promise<void> {
    this.#over = this.#refused() ?? because;
    if (this.#opened === undefined) return;
    this.#undone ??= errorOf(this.#over);
    this.#opened.last.reject(this.#undone);
    if (this.#leftOpen?.isAny()) this.#cut(left);
    const disarm = this.#clock.alarm(answerMs.others, () => this.#cut("The rollback was not answered"));
    await this.#opened.ended.catch(() => {});
    disarm();
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
  let lent: Lent | undefined;
  const ended = pool.beginLent(
    async (tx) => {
      begun.resolve(tx);
      const work = await last.promise;
      await work(tx);
    },
    (control) => {
      lent = control;
    },
  );
  ended.catch(begun.reject);
  return {
    get lent() {
      return lent;
    },
    begun: begun.promise,
    ended,
    last,
    failures: new Set(),
    underWay: new Set(),
  };
}

function swallowed(failure: unknown): Error {
  const cause = failure instanceof Error ? failure.message : String(failure);
  return new Error(
    `A statement of ctx.sql had failed, so Postgres could not commit its transaction: ${cause}`,
    { cause: failure },
  );
}
