import { writeSync } from "node:fs";
import type { RunningHandlers } from "./running-handlers.ts";

const stderr = 2;

/**
 * Says as the process ends which handlers run: one that calls `process.exit` ends the whole stack,
 * and each later start that runs its job again. Returns what ends this, for a stop that is wanted.
 */
export function tellExit(running: RunningHandlers): () => void {
  const tell = (code: number) => {
    const text = running.text();
    if (text === "") return;
    // The streams of the process may not write any more.
    writeSync(
      stderr,
      `The process ends with code ${code} while ${text} ran: a handler must not call process.exit.\n`,
    );
  };
  process.on("exit", tell);
  return () => process.off("exit", tell);
}
