import { Logger, makeWorkerUtils, run, runMigrations } from "graphile-worker";
import { isAnyRow } from "./any-row.ts";
import { inPortions, serve } from "./serve.ts";

const task = "noop";
const silent = new Logger(() => () => {});
/** Smaller portions cost more in calls than they gain; larger ones gain nothing. */
const portion = 10_000;

await serve({
  install: (connectionString) => runMigrations({ connectionString, logger: silent }),

  store: async ({ url, count, at }) => {
    const utils = await makeWorkerUtils({ connectionString: url, logger: silent });
    try {
      await inPortions({ count, portion, callers: 2 }, (jobs) =>
        utils.addJobs(
          jobs.map((n) => ({
            identifier: task,
            payload: { n },
            ...(at === null ? {} : { runAt: at }),
          })),
        ),
      );
    } finally {
      await utils.release();
    }
  },

  work: async (url, ran) => {
    // Configured like its own performance test (perfTest/graphile.config.js), except for the poll
    // interval: jobs that become due without a notification are only found by polls, and the
    // default is two seconds.
    const runner = await run({
      preset: {
        worker: {
          connectionString: url,
          concurrentJobs: 24,
          maxPoolSize: 25,
          pollInterval: 100,
          localQueue: { size: 500, refetchDelay: { durationMs: 10 } },
          completeJobBatchDelay: 0,
          failJobBatchDelay: 0,
          logger: silent,
        },
      },
      noHandleSignals: true,
      taskList: {
        [task]: (payload) => {
          ran(numberOf(payload));
        },
      },
    });
    return { stop: () => runner.stop() };
  },

  isLeft: (url) => isAnyRow(url, "select from graphile_worker._private_jobs"),
});

function numberOf(payload: unknown): number {
  if (typeof payload === "object" && payload !== null && "n" in payload && typeof payload.n === "number")
    return payload.n;
  throw new Error("A job arrived without its payload.");
}
