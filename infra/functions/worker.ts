import type { Duration } from "aws-cdk-lib";
import { SqsEventSource } from "aws-cdk-lib/aws-lambda-event-sources";
import type { RetentionDays } from "aws-cdk-lib/aws-logs";
import { Construct } from "constructs";
import type { Database } from "../database/database.ts";
import type { DatabaseUser } from "../database/database-server.ts";
import type { Network } from "../network/network.ts";
import type { JobQueue } from "../queues/job-queue.ts";
import { CarillonFunction } from "./carillon-function.ts";
import type { FunctionCode } from "./function-code.ts";

export interface WorkerProps {
  readonly network: Network;
  readonly database: Database;
  /** The worker's user in the database. */
  readonly user: DatabaseUser;
  /** The queue whose parcels this worker takes. */
  readonly source: JobQueue;
  /** Every queue: jobs to be retried travel in new parcels. */
  readonly queues: readonly JobQueue[];
  readonly description: string;
  readonly timeout: Duration;
  readonly memoryMiB: number;
  /** Whether one event may lead back to the worker any number of times. */
  readonly mayComeBack: boolean;
  /** How many parcels one invocation receives. */
  readonly batchSize: number;
  /** The highest number of concurrent invocations. */
  readonly maxConcurrency: number;
  /** Whether parcels stay in the queue. */
  readonly stopped: boolean;
  readonly logRetention: RetentionDays;
  readonly code: FunctionCode;
}

/** Claims parcels, delivers their jobs and settles them. */
export class Worker extends Construct {
  readonly fn: CarillonFunction;

  constructor(scope: Construct, id: string, props: WorkerProps) {
    super(scope, id);

    const fn = new CarillonFunction(this, "Function", {
      entry: "worker",
      code: props.code,
      description: props.description,
      network: props.network,
      timeout: props.timeout,
      memoryMiB: props.memoryMiB,
      mayComeBack: props.mayComeBack,
      logRetention: props.logRetention,
    });
    props.database.admit(fn, props.user);
    for (const queue of props.queues) queue.admitSender(fn);
    this.fn = fn;

    props.source.admitReceiver(fn);
    fn.addEventSource(
      new SqsEventSource(props.source.queue, {
        batchSize: props.batchSize,
        // A parcel that fails is retried alone, without its neighbours in the batch.
        reportBatchItemFailures: true,
        // Reserved concurrency would instead throttle messages that were already received, until
        // they land in the dead-letter queue.
        maxConcurrency: props.maxConcurrency,
        // Stated in both cases: where an update only leaves it out again, Lambda keeps the mapping as it is.
        enabled: !props.stopped,
      }),
    );
  }
}
