import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type * as z from "zod";
import { type askedTick, doneTick } from "./tick-process.ts";

export interface TickProcesses extends AsyncDisposable {
  /**
   * Runs this many ticks concurrently, each with its share of the shards, until all have finished.
   */
  tick(ticks: number, batchMax: number): Promise<{ jobs: number; cpuMs: number }>;
}

const program = fileURLToPath(new URL("tick-process.ts", import.meta.url));

/** Started once and reused, like Lambda's environments. */
export async function startTicks(
  count: number,
  env: Readonly<Record<string, string>>,
): Promise<TickProcesses> {
  const children = Array.from({ length: count }, () => fork(program, { env: { ...process.env, ...env } }));
  return {
    tick: async (ticks, batchMax) => {
      const done = await Promise.all(
        children.slice(0, ticks).map((child, share) => askFor(child, { share, of: ticks, batchMax })),
      );
      return {
        jobs: done.reduce((sum, { jobs }) => sum + jobs, 0),
        cpuMs: done.reduce((sum, { cpuMs }) => sum + cpuMs, 0),
      };
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(
        children.map(async (child) => {
          if (child.exitCode !== null || child.signalCode !== null) return;
          const exited = once(child, "exit");
          child.disconnect();
          await exited;
        }),
      );
    },
  };
}

async function askFor(
  child: ChildProcess,
  asked: z.infer<typeof askedTick>,
): Promise<z.infer<typeof doneTick>> {
  const waiting = new AbortController();
  const died = once(child, "exit", { signal: waiting.signal }).then(([code]): never => {
    throw new Error(`A tick's process ended with ${String(code)}.`);
  });
  const answered = once(child, "message", { signal: waiting.signal });
  child.send(asked);
  try {
    const [answer] = await Promise.race([answered, died]);
    return doneTick.parse(answer);
  } finally {
    died.catch(() => {});
    answered.catch(() => {});
    waiting.abort();
  }
}
