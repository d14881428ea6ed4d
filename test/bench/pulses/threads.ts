import { once } from "node:events";
import { Worker } from "node:worker_threads";
import * as z from "zod";
import type { Task } from "./thread.ts";

const told = z.union([
  z.literal("ready"),
  z.object({ done: z.number() }),
  z.object({ pulses: z.number(), at: z.number() }),
]);

export interface Ran {
  /** The total of all threads. */
  done: number;
  ms: number;
}

/**
 * Runs tasks concurrently, each in a thread with its own connections, as functions have. Timed from
 * when all are connected until the last has finished its work; a thread that waits for more
 * afterwards reports when that was.
 */
export async function runThreads(
  env: Readonly<Record<string, string>>,
  tasks: readonly Task[],
): Promise<Ran> {
  const threads = await Promise.all(
    tasks.map(async (task) => {
      const thread = new Worker(new URL("./thread.ts", import.meta.url), { workerData: { env, task } });
      await once(thread, "message");
      return thread;
    }),
  );
  const startedAt = Date.now();
  const ends = threads.map(async (thread) => {
    let done = 0;
    let endedAt = 0;
    thread.on("message", (message: unknown) => {
      const said = told.parse(message);
      if (said === "ready") return;
      if ("done" in said) done = said.done;
      endedAt = "at" in said ? said.at : endedAt || Date.now();
    });
    const exited = once(thread, "exit");
    thread.postMessage("go");
    const [code] = await exited;
    if (code !== 0) throw new Error(`A thread of the bench ended with ${code}.`);
    return { done, endedAt };
  });
  const ended = await Promise.all(ends);
  return {
    done: ended.reduce((sum, { done }) => sum + done, 0),
    ms: Math.max(...ended.map(({ endedAt }) => endedAt)) - startedAt,
  };
}
