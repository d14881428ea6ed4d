import type { LambdaClient } from "@aws-sdk/client-lambda";
import type { AlarmClock } from "../clock.ts";
import type { ClaimedJob } from "../parcel/claimed-job.ts";
import type { LambdaTarget } from "../schedule/shape/target-shape.ts";
import { eachAttempt } from "./attempts.ts";
import { type Delivery, type DeliveryContext, done, failed } from "./delivery.ts";
import { envelope } from "./envelope.ts";
import { callFunction, sendToFunction } from "./invoke-function.ts";
import type { Stop } from "./stop.ts";

export interface LambdaTargetDeps {
  /** Must be a client without retries: its retries would not be counted as attempts of the job. */
  lambda: LambdaClient;
  clock: AlarmClock;
}

type LambdaJob = ClaimedJob & { target: LambdaTarget };

/** Invokes the Lambda functions that targets name, with the envelope as their event. */
export function lambdaTarget({
  lambda,
  clock,
}: LambdaTargetDeps): (jobs: readonly LambdaJob[], context: DeliveryContext) => Promise<Delivery[]> {
  const invoke = async (job: LambdaJob, { signal }: Stop): Promise<Delivery> => {
    const { lambda: name, invocation } = job.target;
    const [, region] = /^arn:[^:]+:lambda:([^:]+):/.exec(name) ?? [];
    const own = await lambda.config.region();
    if (region !== undefined && region !== own)
      return failed(`The function is in ${region}; this Carillon delivers within ${own}.`, true);
    const request = { name, payload: envelope(job, clock.now()), signal };
    if (invocation === "async") await sendToFunction(lambda, request);
    else await callFunction(lambda, request);
    return done;
  };
  return (jobs, context) => eachAttempt(jobs, context, clock, invoke);
}
