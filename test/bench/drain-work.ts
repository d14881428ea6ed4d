import type { SQSClient } from "@aws-sdk/client-sqs";
import * as z from "zod";
import { systemClock } from "../../lib/clock.ts";
import { targetWindow, workerBatchSize } from "../../lib/config/function-limits.ts";
import type { Sql } from "../../lib/db/connect.ts";
import { defineJob } from "../../lib/job/define-job.ts";
import { silentLog } from "../../lib/log/log.ts";
import type { Metrics } from "../../lib/log/metrics.ts";
import type { QueueClass } from "../../lib/parcel/parcel-queue.ts";
import { notifyByDefault } from "../../lib/parcel/settle.ts";
import { deliverTo, type Targets } from "../../lib/target/deliver.ts";
import { type Deliver, done, thrown } from "../../lib/target/delivery.ts";
import { handlerTarget } from "../../lib/target/handler/handler-target.ts";
import { queueTarget } from "../../lib/target/queue-target.ts";
import { workMessages } from "../../lib/worker/worker.ts";
import type { WorkerDeps } from "../../lib/worker/worker-deps.ts";
import type { Carrier } from "./drain-carrier.ts";
import { benchHandler } from "./drain-fill.ts";

const nothing = defineJob({
  name: benchHandler,
  payload: z.object({ n: z.int() }),
  run: async () => {},
});

const none = () => Promise.reject(new Error("This bench delivers nothing to this target."));
const noTargets: Targets = { queue: none, event: none, handler: none, webhook: none, lambda: none };

/** No target: the cost of claiming and settling alone. */
export const toNothing: Deliver = async (jobs) => jobs.map(() => done);

/** Every fifth job fails at its first attempt, and may be retried at once. */
export const failingOnce: Deliver = async (jobs) =>
  jobs.map(({ attempt, scheduleId }) =>
    attempt === 0 && Number(scheduleId) % 5 === 0
      ? { ...thrown(new Error("It fails once.")), retryAt: new Date() }
      : done,
  );

/**
 * A handler that does nothing, through the usual steps: payload checked, attempt bounded by its
 * timeout, transaction available.
 */
export function toHandler(sql: Sql, transactions: Sql, { queue }: Carrier): Deliver {
  const deps = { sql, transactions, queue, notify: notifyByDefault, log: silentLog, clock: systemClock };
  return deliverTo({ ...noTargets, handler: handlerTarget({ ...deps, handlers: [nothing] }) });
}

/** The real sender of messages. With an answering client its requests stay in the process. */
export function toQueue(sqs: SQSClient, ownUrls: readonly string[] = []): Deliver {
  return deliverTo({ ...noTargets, queue: queueTarget({ sqs, ownUrls, clock: systemClock }) });
}

/**
 * Runs the default number of concurrent invocations, each with as many messages as Lambda passes to
 * it.
 */
export async function work(
  { sql, carrier, deliver }: { sql: Sql; carrier: Carrier; deliver: Deliver },
  { queueClass, jobs, workers }: { queueClass: QueueClass; jobs: number; workers: number },
): Promise<void> {
  let succeeded = 0;
  const metrics: Metrics = {
    write: ({ Succeeded, Failed }) => {
      if (typeof Succeeded === "number") succeeded += Succeeded;
      if (deliver !== failingOnce && typeof Failed === "number" && Failed > 0)
        throw new Error(`${Failed} deliveries failed.`);
    },
  };
  const deps: WorkerDeps & { metrics: Metrics } = {
    sql,
    queue: carrier.queue,
    clock: systemClock,
    log: silentLog,
    random: Math.random,
    notify: notifyByDefault,
    window: queueClass === "slow" ? targetWindow(workers) : null,
    deliver,
    metrics,
  };
  const over = new AbortController();
  const invocations = async () => {
    while (succeeded < jobs) {
      const records = await carrier.receive(queueClass, workerBatchSize[queueClass], over.signal);
      if (records.length === 0) continue;
      const { batchItemFailures } = await workMessages(deps, records, () => 60_000);
      if (batchItemFailures.length > 0) throw new Error(`${batchItemFailures.length} parcels failed.`);
      await carrier.done(queueClass, records);
    }
    // The other invocations would wait for messages that no longer come.
    over.abort();
  };
  await Promise.all(Array.from({ length: workers }, invocations));
}
