import { deserialize, serialize } from "node:v8";
import type { Sql, Tx } from "../db/connect.ts";
import { spelled } from "../db/statement.ts";
import { type Claim, writeStep } from "./kept-requests.ts";
import { FailedBefore, FailedStep, type Memory } from "./remembered-sql.ts";
import type { Seal } from "./seal.ts";

/** Another claim carries out the request now; the transaction of this one is rolled back. */
export class Overtaken extends Error {
  override readonly name = "Overtaken";
}

/** The kept data was encrypted with another token, or by a newer version. */
export class Unreadable extends Error {
  override readonly name = "Unreadable";
}

/**
 * The result of one transaction of a request, as plain data, and the reads between the transaction
 * before and this one.
 */
interface Step {
  result: unknown;
  reads: Read[];
  /** The transaction failed, and `result` is the failure. */
  failed?: boolean;
}

interface Read {
  asked: string;
  rows: readonly unknown[];
  count: number;
  command: string;
}

export interface RequestMemory extends Memory {
  /** Committed transactions, of this process or an earlier one. */
  steps(): number;
  /** Whether the answer is not final. */
  isOpen(): boolean;
}

/**
 * A request as a list of steps, one for each transaction, written within that transaction. A
 * repeated request runs the same code: a committed transaction is not run again but returns its
 * recorded result, and the reads before it return their recorded rows, so that the code takes the
 * same path. After the last step the statements are real, and the request continues where it
 * stopped.
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
      // A failed statement rejects for its caller. The empty handler avoids an unhandled rejection
      // here.
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
        // The same code recorded this step, so the result has the type that the code expects.
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
  // Written by this code and authenticated since, so the type holds.
  return deserialize(bytes);
}

/** Recorded reads by statement, each list in its original order. */
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
