import { Duration } from "aws-cdk-lib";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";
import {
  functionTimeoutSeconds,
  mayComeBack,
  targetWindow,
  workerBatchSize,
} from "../../lib/config/function-limits.ts";
import type { TargetAllowList } from "./target-allow-list.ts";
import type { WebhookSender } from "./webhook-sender.ts";
import { Worker, type WorkerProps } from "./worker.ts";

type Shared = Pick<
  WorkerProps,
  "network" | "database" | "source" | "queues" | "maxConcurrency" | "stopped" | "logRetention" | "code"
>;

export interface FastWorkerProps extends Shared {
  readonly targets: TargetAllowList;
  /** Queues of Carillon besides those of parcels: no target may name them. */
  readonly reserved: readonly IQueue[];
}

export interface SlowWorkerProps extends Shared {
  readonly targets: TargetAllowList;
  readonly webhooks: WebhookSender;
}

/** The worker that delivers to queues and event buses. It has no other rights. */
export function fastWorkerOf(scope: Construct, { targets, reserved, ...props }: FastWorkerProps): Worker {
  const worker = new Worker(scope, "FastWorker", {
    ...props,
    user: "carillon_worker",
    description: "Carillon: delivers jobs to queues and event buses, many together",
    timeout: Duration.seconds(functionTimeoutSeconds.fastWorker),
    mayComeBack: mayComeBack.has("fastWorker"),
    memoryMiB: 1_024,
    batchSize: workerBatchSize.fast,
  });
  targets.admitSender(worker.fn);
  worker.fn.addEnvironment("RESERVED_QUEUE_URLS", reserved.map(({ queueUrl }) => queueUrl).join(" "));
  return worker;
}

/** The worker that runs handlers, invokes functions and requests webhooks from the sender. */
export function slowWorkerOf(scope: Construct, { targets, webhooks, ...props }: SlowWorkerProps): Worker {
  const worker = new Worker(scope, "SlowWorker", {
    ...props,
    // Handlers create and delete schedules in their own transactions.
    user: "carillon_handler",
    description: "Carillon: runs handlers, invokes functions and sends webhooks",
    timeout: Duration.seconds(functionTimeoutSeconds.slowWorker),
    mayComeBack: mayComeBack.has("slowWorker"),
    memoryMiB: 1_024,
    // One parcel per invocation: a handler that hangs delays no other parcel.
    batchSize: workerBatchSize.slow,
  });
  worker.fn.addEnvironment("TARGET_WINDOW", String(targetWindow(props.maxConcurrency)));
  targets.admitInvoker(worker.fn);
  webhooks.admitSender(worker.fn);
  return worker;
}
