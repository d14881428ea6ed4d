import { Worker } from "node:worker_threads";
import type { Assembled } from "./function.ts";

type Handler<Event, Result> = Assembled<Event, Result>["handler"];

/**
 * How long a process may be blocked: as long as a lease. By then another worker has the parcel, and this process could only occupy a
 * worker until the timeout of its function.
 */
export const blockedMsMax = 30_000;

/** Places in the memory that the process shares with its watch. */
const cell = { beats: 0, calls: 1, never: 2 } as const;

/**
 * The handler, in a process that is ended where code of a user's blocks it (a loop without an end, an expression that backtracks): no timer of
 * the process rings then, that of the attempt's timeout among them, and Lambda would end it after eleven minutes. A thread of its own looks
 * whether the event loop still turns while a call is under way. It counts its looks and not the time, since Lambda stops all threads
 * of an idle process for any time.
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

/** The process beats, and the watch looks, this often within the limit. */
const looks = 30;

function watched(blockedMs: number): Int32Array {
  const cells = new Int32Array(new SharedArrayBuffer(3 * Int32Array.BYTES_PER_ELEMENT));
  const everyMs = blockedMs / looks;
  setInterval(() => Atomics.add(cells, cell.beats, 1), everyMs).unref();
  const line = JSON.stringify({ level: "error", event: "worker.blocked", seconds: blockedMs / 1_000 });
  const workerData = { cells, cell, looks, everyMs, line };
  // Without the flags of the process, which may tell how a text is read.
  new Worker(watch, { eval: true, execArgv: [], workerData }).unref();
  return cells;
}

/** A text, since a bundle is one file. It writes its line itself: the process's own log waits for the event loop. */
const watch = `
  const { workerData: { cells, cell, looks, everyMs, line } } = require("node:worker_threads");
  const { writeSync } = require("node:fs");
  for (let seen = -1, missed = 0; ; ) {
    Atomics.wait(cells, cell.never, 0, everyMs);
    const beats = Atomics.load(cells, cell.beats);
    missed = Atomics.load(cells, cell.calls) === 0 || beats !== seen ? 0 : missed + 1;
    seen = beats;
    if (missed < looks) continue;
    writeSync(1, line + "\\n");
    process.kill(process.pid, "SIGKILL");
  }
`;
