import { ConnectionLost } from "../../lib/db/connection-lost.ts";
import type { Line } from "../../lib/db/line.ts";
import type { Statement } from "../../lib/db/statement.ts";
import type { ParcelQueue } from "../../lib/parcel/parcel-queue.ts";
import type { Deliver } from "../../lib/target/delivery.ts";
import { holdAnswer, textOf, valuesOf, type WrapLine } from "../race/lines.ts";

/** One external effect of a process, numbered among the operations with the same label. */
export interface Operation {
  label: string;
  nth: number;
  /**
   * True when dying just after it differs from dying just before the next operation, because its
   * effect is lasting.
   */
  lasts: boolean;
}

/** The moment at which a process dies. */
export interface Moment extends Operation {
  side: "before" | "after";
}

export class Killed extends ConnectionLost {
  constructor() {
    super("the process was killed");
  }
}

/**
 * Counts the external operations of processes, and kills a process at a given moment. From then on
 * none of its operations has an effect and it gets no answers. Its connections are closed, which
 * ends their open transactions.
 */
export interface Fuse {
  operations: Operation[];
  isBlown(): boolean;
  /** A new process, which may die independently of the others. */
  process(): FusedProcess;
}

export interface FusedProcess {
  /** The task of the following operations, for their labels. */
  begin(task: string): void;
  isDead(): boolean;
  /** Resolves when the server has closed its side of the connections. */
  closed(): Promise<void>;
  wrap: WrapLine;
  queue(queue: ParcelQueue): ParcelQueue;
  deliver(deliver: Deliver): Deliver;
  /** Any other operation, such as deleting a message from its queue. */
  operation<T>(label: string, act: () => Promise<T>): Promise<T>;
}

export function fuse(moment?: Moment): Fuse {
  const operations: Operation[] = [];
  const seen = new Map<string, number>();
  let blown = false;

  const count = (label: string, lasts: boolean): Operation => {
    const nth = (seen.get(label) ?? 0) + 1;
    seen.set(label, nth);
    const operation = { label, nth, lasts };
    operations.push(operation);
    return operation;
  };
  const isNow = ({ label, nth }: Operation, side: Moment["side"]) =>
    moment !== undefined && moment.label === label && moment.nth === nth && moment.side === side;

  const process = (): FusedProcess => {
    let name = "";
    let dead = false;
    const lines = new Map<Line, () => void>();
    const closing: Promise<void>[] = [];
    const die = () => {
      dead = true;
      blown = true;
    };
    const hangUp = () => {
      for (const [line, onLost] of lines) {
        lines.delete(line);
        // The running statement ends first; then the server notices the closed connection.
        closing.push(line.close());
        onLost();
      }
    };
    const operation = async <T>(label: string, act: () => Promise<T>): Promise<T> => {
      if (dead) throw new Killed();
      const counted = count(`${name}: ${label}`, true);
      if (isNow(counted, "before")) die();
      if (dead) {
        hangUp();
        throw new Killed();
      }
      if (isNow(counted, "after")) {
        die();
        hangUp();
        await act();
      } else {
        const result = await act();
        if (!dead) return result;
      }
      throw new Killed();
    };
    const runOn = (line: Line, scope: Scope, statement: Statement) => {
      if (dead) return statement.reject(new Killed());
      const counted = count(`${name}: ${labelOf(statement, scope)}`, scope.lasting());
      if (isNow(counted, "before")) {
        die();
        return statement.reject(new Killed());
      }
      if (isNow(counted, "after")) {
        die();
        holdAnswer(statement, () => statement.reject(new Killed()));
      }
      line.run(statement);
    };
    return {
      begin: (task) => {
        name = task;
      },
      isDead: () => dead,
      wrap: (line, onLost) => {
        const scope = scopeOf();
        lines.set(line, onLost);
        return {
          run: (statement) => {
            scope.enter(statement);
            runOn(line, scope, statement);
            if (dead) hangUp();
          },
          isLost: () => dead || line.isLost(),
          cut: line.cut,
          close: line.close,
        };
      },
      closed: async () => {
        await Promise.all(closing);
      },
      queue: (queue) => {
        queue.sqs.middlewareStack.add((next) => (args) => operation("send", () => next(args)), {
          step: "initialize",
          priority: "high",
          name: "fuse",
        });
        return queue;
      },
      deliver: (deliver) => (jobs, context) => operation("deliver", () => deliver(jobs, context)),
      operation,
    };
  };
  return { operations, isBlown: () => blown, process };
}

/** The state of a connection: whether it is in a transaction, and the shard that it has locked. */
interface Scope {
  enter(statement: Statement): void;
  lasting(): boolean;
  shard(): string;
}

function scopeOf(): Scope {
  let inside = false;
  let committing = false;
  let shard = "";
  return {
    enter: (statement) => {
      const text = textOf(statement).trim();
      if (text.startsWith("begin")) [inside, committing, shard] = [true, false, ""];
      else if (committing) [inside, committing, shard] = [false, false, ""];
      if (text === "commit" || text === "rollback") committing = true;
      if (text.includes("pg_advisory_xact_lock")) shard = ` of shard ${valuesOf(statement)[1]}`;
    },
    lasting: () => !inside || committing,
    shard: () => shard,
  };
}

function labelOf(statement: Statement, scope: Scope): string {
  const text = textOf(statement).replaceAll(/\s+/g, " ").trim();
  const called = /from carillon\.(\w+_parcel)\(/.exec(text)?.[1];
  return `${called ?? text.slice(0, 70)}${scope.shard()}`;
}
