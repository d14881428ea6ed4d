import { Worker } from "node:worker_threads";
import type { Assembled } from "./function.ts";

type Handler<Event, Result> = Assembled<Event, Result>["handler"];

/**
 * The longest time that a process may be blocked: the length of a lease. After it another worker
 * has the parcel, and this process would only occupy a worker until the timeout of its function.
 */
export const blockedMsMax = 30_000;

/** Indexes in the memory that the process shares with its watch thread. */
const cell = { beats: 0, calls: 1, never: 2 } as const;

/**
 * The handler, in a process that is killed when user code blocks it (an endless loop, an expression
 * that backtracks). No timer of a blocked process fires, not even that of the attempt's timeout,
 * and Lambda would end it only after eleven minutes. A watch thread checks whether the event loop
 * still turns while a call is running. It counts its checks instead of measuring time, since Lambda
 * suspends all threads of an idle process for any time.
 */
export function endedWhenBlocked<Event, Result>(
  handler: Handler<Event, Result>,
  blockedMs: number = blockedMsMax,
): Handler<Event, Result> {
  let cells: Int32Array | undefined;
  return async (event, invocation) => {
    cells ??= watched(blockedMs);
    Atomics.add(cells, cell.calls, 1);
    try {
      return await handler(event, invocation);
    } finally {
      Atomics.sub(cells, cell.calls, 1);
    }
  };
}

/** The number of beats of the process, and of checks of the watch thread, within the limit. */
const checks = 30;

function watched(blockedMs: number): Int32Array {
  const cells = new Int32Array(new SharedArrayBuffer(3 * Int32Array.BYTES_PER_ELEMENT));
  const everyMs = blockedMs / checks;
  setInterval(() => Atomics.add(cells, cell.beats, 1), everyMs).unref();
  const line = JSON.stringify({ level: "error", event: "worker.blocked", seconds: blockedMs / 1_000 });
  const workerData = { cells, cell, checks, everyMs, line };
  // The thread starts without the flags of the process, which may change how its text is read.
  new Worker(watch, { eval: true, execArgv: [], workerData }).unref();
  return cells;
}

/**
 * The code of the watch thread, as text since a bundle is one file. The thread writes its log line
 * itself, because the log of the process waits for the event loop.
 */
const watch = `
  const { workerData: { cells, cell, checks, everyMs, line } } = require("node:worker_threads");
  const { writeSync } = require("node:fs");
  for (let seen = -1, missed = 0; ; ) {
    Atomics.wait(cells, cell.never, 0, everyMs);
    const beats = Atomics.load(cells, cell.beats);
    missed = Atomics.load(cells, cell.calls) === 0 || beats !== seen ? 0 : missed + 1;
    seen = beats;
    if (missed < checks) continue;
    writeSync(1, line + "\\n");
    process.kill(process.pid, "SIGKILL");
  }
`;
