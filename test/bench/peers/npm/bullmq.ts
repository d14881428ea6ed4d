import { Queue, Worker } from "bullmq";
import { Redis } from "ioredis";
import { inPortions, serve } from "./serve.ts";

const name = "noop";
const portion = 5_000;

await serve({
  install: async (url) => {
    const redis = new Redis(url);
    await redis.flushall();
    redis.disconnect();
  },

  store: async ({ url, count, at }) => {
    const queue = queueAt(url);
    try {
      await inPortions({ count, portion, callers: 2 }, (jobs) => {
        const now = Date.now();
        const opts = at === null ? {} : { delay: Math.max(0, at.getTime() - now), timestamp: now };
        return queue.addBulk(jobs.map((n) => ({ name, data: { n }, opts })));
      });
    } finally {
      await queue.close();
    }
  },

  work: async (url, ran) => {
    const worker = new Worker<{ n: number }>(
      name,
      async ({ data }) => {
        ran(data.n);
      },
      {
        connection: { url, maxRetriesPerRequest: null },
        concurrency: 300,
        // BullMQ keeps all done jobs by default; the other peers delete them.
        removeOnComplete: { count: 0 },
      },
    );
    worker.on("error", (error) => process.stderr.write(`BullMQ: ${error.message}\n`));
    await worker.waitUntilReady();
    return { stop: () => worker.close() };
  },

  isLeft: async (url) => {
    const queue = queueAt(url);
    try {
      const counts = await queue.getJobCounts("waiting", "active", "delayed", "prioritized", "failed");
      return Object.values(counts).some((count) => count > 0);
    } finally {
      await queue.close();
    }
  },
});

function queueAt(url: string): Queue {
  return new Queue(name, { connection: { url } });
}
