import { SQSClient } from "@aws-sdk/client-sqs";
import type { SQSBatchResponse, SQSEvent } from "aws-lambda";
import { systemClock } from "../../../../lib/clock.ts";
import { awsClientSettings } from "../../../../lib/config/aws.ts";
import { type Environment, required } from "../../../../lib/config/environment.ts";
import type { Assemble } from "../../../../lib/config/function.ts";
import { functionConnections } from "../../../../lib/config/function-connections.ts";
import {
  functionTimeoutSeconds,
  targetWindow,
  workerBatchSize,
} from "../../../../lib/config/function-limits.ts";
import { connect } from "../../../../lib/db/connect.ts";
import { silentLog } from "../../../../lib/log/log.ts";
import type { QueueClass } from "../../../../lib/parcel/parcel-queue.ts";
import { parcelQueueFrom } from "../../../../lib/parcel/parcel-queue-from.ts";
import { notifyByDefault } from "../../../../lib/parcel/settle.ts";
import { type Deliver, done } from "../../../../lib/target/delivery.ts";
import { localFunction } from "../../../../lib/tools/local/lambda/local-function.ts";
import { type QueueSourceParts, startQueueSource } from "../../../../lib/tools/local/lambda/queue-source.ts";
import { workMessages } from "../../../../lib/worker/worker.ts";
import { answeringClient } from "../../drain-carrier.ts";
import { toQueue } from "../../drain-work.ts";
import type { Working } from "../npm/serve.ts";
import { type Source, startDirectSource } from "./direct-source.ts";

/** Lambda begins with five pollers for a queue. */
const pollers = 5;

/** Environments of each worker in one process. */
const concurrency: Readonly<Record<QueueClass, number>> = { fast: 8, slow: 10 };

/** The transport of parcels to the workers. */
export type Carrier = "sqs" | "direct";

export interface Workers {
  queueClass: QueueClass;
  carrier: Carrier;
  assemble: Assemble<SQSEvent, SQSBatchResponse>;
}

/**
 * The workers of one process, as in the local stack: the event source's polls, and the function's
 * environments, each with its own connections.
 */
export function startWorkers(env: Environment, { queueClass, carrier, assemble }: Workers): Working {
  const parts = { clock: systemClock, log: silentLog };
  const seconds = { fast: functionTimeoutSeconds.fastWorker, slow: functionTimeoutSeconds.slowWorker };
  const consumer = localFunction(
    {
      name: queueClass,
      assemble,
      env: queueClass === "slow" ? { ...env, TARGET_WINDOW: String(targetWindow(concurrency.slow)) } : env,
      timeoutMs: seconds[queueClass] * 1_000,
      concurrency: concurrency[queueClass],
    },
    parts,
  );
  const url = required(env, queueClass === "fast" ? "FAST_QUEUE_URL" : "SLOW_QUEUE_URL");
  const queueName = url.split("/").at(-1) ?? "";
  const batchSize = workerBatchSize[queueClass];
  const source =
    carrier === "direct"
      ? startDirectSource({ env, queueClass, queueName, batchSize, consumer })
      : startSqsSource({ env, queue: { name: queueName, url }, batchSizeMax: batchSize, consumer, ...parts });
  return {
    stop: async () => {
      await source.stop();
      await consumer.close(30_000);
      await source.end();
    },
  };
}

function startSqsSource({ env, ...parts }: Omit<QueueSourceParts, "sqs"> & { env: Environment }): Source {
  const sqs = new SQSClient(awsClientSettings(env, "SQS"));
  const polls = Array.from({ length: pollers }, () => startQueueSource({ sqs, ...parts }));
  return {
    stop: async () => {
      await Promise.all(polls.map((poll) => poll.stop()));
    },
    end: async () => sqs.destroy(),
  };
}

/** Deliveries to SQS or EventBridge are dropped. */
export function toNothing(ran: (job: number) => void): Deliver {
  return async (jobs) =>
    jobs.map(({ payload }) => {
      ran(numberOf(payload));
      return done;
    });
}

/** Deliveries to a queue are answered before they leave the process. */
export function toAnsweredQueue(ran: (job: number) => void): Deliver {
  return toQueue(
    answeringClient((_url, bodies) => {
      for (const body of bodies) ran(numberOf({ n: numberIn(body) }));
    }),
  );
}

/** Finds the number without parsing the whole envelope, which is the receiver's work. */
function numberIn(body: string): number | undefined {
  const [, digits] = /"data":\{"n":(\d+)\}/.exec(body) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

/** The worker of the fast queue, complete except for its targets. */
export function fastWorker(deliver: Deliver): Assemble<SQSEvent, SQSBatchResponse> {
  return (env) => {
    const queue = parcelQueueFrom(env, silentLog);
    const sql = connect(env, { max: functionConnections.worker, applicationName: "carillon-worker" });
    const deps = {
      sql,
      queue,
      clock: systemClock,
      log: silentLog,
      random: Math.random,
      notify: notifyByDefault,
      window: null,
      deliver,
    };
    return {
      handler: (event, invocation) =>
        workMessages(deps, event.Records, () => invocation.getRemainingTimeInMillis()),
      close: async () => {
        queue.sqs.destroy();
        await sql.end();
      },
    };
  };
}

function numberOf(payload: unknown): number {
  if (typeof payload === "object" && payload !== null && "n" in payload && typeof payload.n === "number")
    return payload.n;
  throw new Error("A job arrived without its payload.");
}
