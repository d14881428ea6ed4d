import { deserialize, serialize } from "node:v8";
import type { Sql, Tx } from "../db/connect.ts";
import { spelled } from "../db/statement.ts";
import { type Claim, writeStep } from "./kept-requests.ts";
import { FailedBefore, FailedStep, type Memory } from "./remembered-sql.ts";
import type { Seal } from "./seal.ts";

/** Somebody else works the request by now: what this one was about to commit is undone. */
export class Overtaken extends Error {
  override readonly name = "Overtaken";
}

/** What was kept was closed with another token, or by a newer version. */
export class Unreadable extends Error {
  override readonly name = "Unreadable";
}

/** What one transaction of a request came to, as plain data, and what was read on the way to it since the one before. */
interface Step {
  result: unknown;
  reads: Read[];
  /** It failed, and `result` is how. */
  failed?: boolean;
}

interface Read {
  asked: string;
  rows: readonly unknown[];
  count: number;
  command: string;
}

export interface RequestMemory extends Memory {
  /** Transactions that are committed, by this process or one before it. */
  steps(): number;
  /** Whether the answer is not the request's last. */
  isOpen(): boolean;
}

/**
 * A request told as a list of steps, one for each transaction, each written in that transaction itself. Who works the request again runs
 * the same code: a transaction that is committed is not begun again but gives what it gave, and what was read before it is told as
 * it was then, so that the code goes the same way. Behind the last step everything is real, and the request goes on where it stopped.
 */
export function requestMemory(claim: Claim, seal: Seal, before: readonly Buffer[]): RequestMemory {
  const earlier = before.map((sealed) => openStep(seal, sealed));
  let n = 0;
  let told = readsOf(earlier[0]);
  let read: Read[] = [];
  let open = false;

  return {
    steps: () => Math.max(n, earlier.length),
    isRepeating: () => n > 0 && n <= earlier.length,
    isOpen: () => open,
    leaveOpen: () => {
      open = true;
    },

    statement: (statement, run) => {
      const asked = spelled(statement);
      const known = told.get(asked)?.shift();
      if (known !== undefined) return statement.resolve(rowsOf(known));
      run(statement);
      // A statement that fails is told to who awaits it.
      statement.then(
        (rows) => void read.push(readOf(asked, rows)),
        () => {},
      );
    },

    transaction: async <T>(begin: Sql["begin"], work: (tx: Tx) => Promise<T>) => {
      const step = earlier[n];
      if (step !== undefined) {
        n += 1;
        told = readsOf(earlier[n]);
        if (step.failed === true) throw new FailedBefore(step.result);
        // The same code has come to the same place: what it gave then is what it gives.
        return step.result as T;
      }
      const result = await begin(async (tx) => {
        const came = await work(tx);
        const sealed = seal.close(serialize(stepOf(came, read)));
        if (!(await writeStep(tx, claim, { n, result: sealed }))) throw new Overtaken();
        return came;
      });
      n += 1;
      read = [];
      return result;
    },
  };
}

function stepOf(came: unknown, reads: Read[]): Step {
  return came instanceof FailedStep ? { result: came.failure, reads, failed: true } : { result: came, reads };
}

function openStep(seal: Seal, sealed: Buffer): Step {
  const bytes = seal.open(sealed);
  if (bytes === null) throw new Unreadable();
  // Written by this very code, and closed since.
  return deserialize(bytes);
}

/** Those that ask the same, in the order in which they were asked. */
function readsOf(step: Step | undefined): Map<string, Read[]> {
  return Map.groupBy(step?.reads ?? [], ({ asked }) => asked);
}

function readOf(asked: string, rows: unknown): Read {
  const list: readonly unknown[] = Array.isArray(rows) ? rows : [];
  const count: unknown = Reflect.get(list, "count");
  const command: unknown = Reflect.get(list, "command");
  return {
    asked,
    rows: [...list],
    count: typeof count === "number" ? count : list.length,
    command: String(command),
  };
}

function rowsOf({ rows, count, command }: Read): readonly unknown[] {
  return Object.assign([...rows], { count, command });
}
