import { once } from "node:events";
import { Worker } from "node:worker_threads";

export interface BatchCallers extends AsyncDisposable {
  /**
   * Sends these batches with this many concurrent callers, each sending the next one after its
   * answer. Returns the milliseconds from the first event to the last answer.
   */
  send(batches: readonly (readonly object[])[], by: number): Promise<number>;
}

/**
 * Callers of the batch API. Each has its own thread, environment of the function and connection, as
 * Lambda has for each request under way. The events are prepared in advance, because that is the
 * client's work.
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
