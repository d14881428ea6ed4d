import { once } from "node:events";
import { Worker } from "node:worker_threads";

export interface BatchCallers extends AsyncDisposable {
  /** Sends these batches by so many at once, each the next when it has its answer: the milliseconds from the first event to the last answer. */
  send(batches: readonly (readonly object[])[], by: number): Promise<number>;
}

/**
 * Callers of the batch API, each with an environment of the function, a thread and a connection of its own, as Lambda has one for each
 * request that is under way. What they send is written beforehand: that is the client's work.
 */
export async function batchCallers(
  env: Readonly<Record<string, string>>,
  bearer: string,
  count: number,
): Promise<BatchCallers> {
  const threads = await Promise.all(
    Array.from({ length: count }, async () => {
      const thread = new Worker(new URL("./caller.ts", import.meta.url), { workerData: { env, bearer } });
      const ended = new Promise<void>((resolve) => thread.once("exit", () => resolve()));
      await once(thread, "message");
      return { thread, ended };
    }),
  );
  return {
    send: async (batches, by) => {
      const bodies = batches.map((operations) => JSON.stringify({ operations }));
      const left = bodies.values();
      const startedAt = performance.now();
      await Promise.all(
        threads.slice(0, by).map(async ({ thread }) => {
          for (const body of left) {
            thread.postMessage(body);
            await once(thread, "message");
          }
        }),
      );
      return performance.now() - startedAt;
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(
        threads.map(({ thread, ended }) => {
          thread.postMessage(null);
          return ended;
        }),
      );
    },
  };
}
