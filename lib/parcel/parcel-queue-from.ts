import { SQSClient } from "@aws-sdk/client-sqs";
import { systemTiming } from "../clock.ts";
import { awsClientSettings, withoutSdkLog } from "../config/aws.ts";
import { type Environment, required } from "../config/environment.ts";
import type { Log } from "../log/log.ts";
import type { ParcelQueue } from "./parcel-queue.ts";

/** The fast and the slow queue as the environment names them. */
export function parcelQueueFrom(env: Environment, log: Log): ParcelQueue {
  return {
    sqs: withoutSdkLog(
      new SQSClient({
        ...awsClientSettings(env, "SQS"),
        useQueueUrlAsEndpoint: false,
      }),
    ),
    urls: { fast: required(env, "FAST_QUEUE_URL"), slow: required(env, "SLOW_QUEUE_URL") },
    log,
    timing: systemTiming,
  };
}
