import { Duration } from "aws-cdk-lib";
import type { IKey } from "aws-cdk-lib/aws-kms";
import type { Construct } from "constructs";
import { functionTimeoutSeconds } from "../../lib/config/function-limits.ts";
import type { Alarms } from "../watch/alarms.ts";
import { JobQueue } from "./job-queue.ts";

export interface JobQueues {
  /** For deliveries that take milliseconds: queues and event buses. */
  readonly fast: JobQueue;
  /** For deliveries that may hang: handlers, functions and webhooks. */
  readonly slow: JobQueue;
}

/** Two queues, so that a host that does not answer only delays deliveries of the slow kind. */
export function jobQueues(
  scope: Construct,
  { alarms, key }: { alarms: Alarms; key: IKey | undefined },
): JobQueues {
  return {
    fast: new JobQueue(scope, "Fast", {
      workerTimeout: Duration.seconds(functionTimeoutSeconds.fastWorker),
      variable: "FAST_QUEUE_URL",
      alarms,
      key,
    }),
    slow: new JobQueue(scope, "Slow", {
      workerTimeout: Duration.seconds(functionTimeoutSeconds.slowWorker),
      variable: "SLOW_QUEUE_URL",
      alarms,
      key,
    }),
  };
}
