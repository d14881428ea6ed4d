import inspector from "node:inspector";
import { Worker } from "node:worker_threads";
import type { RunningHandlers } from "./running-handlers.ts";

export interface BlockedLimits {
  /** How long the event loop stands still before a line says so. */
  saysAfterMs: number;
  /** How long it stands still before the process is ended. */
  endsAfterMs: number;
}

const defaults: BlockedLimits = { saysAfterMs: 10_000, endsAfterMs: 60_000 };

/** Indexes in the memory that the process shares with its watch thread. */
const cell = { beats: 0, textBytes: 1, debugged: 2, never: 3 } as const;
const textBytesMax = 2_000;
/** The checks of the watch thread within the shorter limit. */
const checks = 20;

/**
 * A thread that watches whether the event loop still turns while a handler runs. All functions of the
 * stack share one process: a handler that blocks it stops the API, the ticks and Ctrl-C too, and no
 * timer of the process can say so. The thread counts its checks instead of measuring time, since a
 * machine that sleeps suspends all threads. A process that a debugger has stopped is left alone.
 */
export function watchBlocked(
  running: RunningHandlers,
  { saysAfterMs, endsAfterMs }: BlockedLimits = defaults,
): () => void {
  const everyMs = saysAfterMs / checks;
  const cells = new Int32Array(new SharedArrayBuffer(4 * Int32Array.BYTES_PER_ELEMENT));
  const text = new Uint8Array(new SharedArrayBuffer(textBytesMax));
  const encoder = new TextEncoder();
  running.onChange((now) => {
    // A view of shared memory is no target of the encoder.
    const bytes = encoder.encode(now).subarray(0, textBytesMax);
    text.set(bytes);
    Atomics.store(cells, cell.textBytes, bytes.length);
  });
  const beat = setInterval(() => {
    Atomics.add(cells, cell.beats, 1);
    Atomics.store(cells, cell.debugged, inspector.url() === undefined ? 0 : 1);
  }, everyMs).unref();
  const workerData = { cells, text, cell, everyMs, saysAfterMs, endsAfterMs };
  // The thread starts without the flags of the process, which may change how its text is read.
  const thread = new Worker(watch, { eval: true, execArgv: [], workerData });
  thread.unref();
  return () => {
    clearInterval(beat);
    running.onChange(() => {});
    Atomics.store(cells, cell.textBytes, 0);
    void thread.terminate();
  };
}

/** The code of the watch thread, as text since the package is one file. */
const watch = `
  const { workerData: { cells, text, cell, everyMs, saysAfterMs, endsAfterMs } } = require("node:worker_threads");
  const { writeSync } = require("node:fs");
  const say = (ms, sentence) => {
    const running = Buffer.from(text.slice(0, Atomics.load(cells, cell.textBytes))).toString();
    writeSync(2, "The process has been blocked for " + ms / 1000 + " s while " + running + " ran: " + sentence + "\\n");
  };
  for (let seen = -1, missed = 0; ; ) {
    Atomics.wait(cells, cell.never, 0, everyMs);
    const beats = Atomics.load(cells, cell.beats);
    const isFree = Atomics.load(cells, cell.textBytes) === 0 || Atomics.load(cells, cell.debugged) === 1;
    missed = isFree || beats !== seen ? 0 : missed + 1;
    seen = beats;
    if (missed === Math.round(saysAfterMs / everyMs))
      say(saysAfterMs, "nothing else runs meanwhile, neither the API nor Ctrl-C. A handler must leave the event loop free. kill -9 " + process.pid + " ends the process; otherwise it ends by itself after " + endsAfterMs / 1000 + " s.");
    if (missed < Math.round(endsAfterMs / everyMs)) continue;
    say(endsAfterMs, "the process ends. After the next start its jobs are retried when their leases end.");
    process.kill(process.pid, "SIGKILL");
  }
`;
