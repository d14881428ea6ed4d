import { PgBoss } from "pg-boss";
import { isAnyRow } from "./any-row.ts";
import { inPortions, serve } from "./serve.ts";

const queue = "noop";
const portion = 5_000;

/**
 * For an instance that only stores, or only works: disables background tasks that a bench of
 * seconds does not need.
 */
const quiet = { supervise: false, schedule: false };

await serve({
  install: async (url) => {
    await using _ = await started({ connectionString: url, ...quiet });
  },

  store: async ({ url, count, at }) => {
    await using boss = await started({ connectionString: url, ...quiet, max: 2, migrate: false });
    await boss.instance.createQueue(queue, { notify: true });
    await inPortions({ count, portion, callers: 2 }, (jobs) =>
      boss.instance.insert(
        queue,
        jobs.map((n) => ({ data: { n }, ...(at === null ? {} : { startAfter: at }) })),
      ),
    );
  },

  work: async (url, ran) => {
    const boss = await started({
      connectionString: url,
      ...quiet,
      migrate: false,
      max: 4,
      useListenNotify: true,
    });
    await boss.instance.createQueue(queue, { notify: true });
    await boss.instance.work<{ n: number }>(
      queue,
      {
        batchSize: 1_000,
        localConcurrency: 2,
        // The shortest interval that it accepts; it does not pause while batches are full.
        pollingIntervalSeconds: 0.5,
        notifyPollingIntervalSeconds: 0.5,
        burstWhenBatchFull: true,
      },
      async (jobs) => {
        for (const { data } of jobs) ran(data.n);
      },
    );
    return { stop: () => boss.instance.stop({ graceful: true, close: true }) };
  },

  isLeft: (url) => isAnyRow(url, "select from pgboss.job where state <> 'completed'"),
});

async function started(options: ConstructorParameters<typeof PgBoss>[0]) {
  const instance = new PgBoss(options);
  instance.on("error", (error) => process.stderr.write(`pg-boss: ${error.message}\n`));
  await instance.start();
  return { instance, [Symbol.asyncDispose]: () => instance.stop({ graceful: false, close: true }) };
}
