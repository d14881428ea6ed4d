import { EventBridgeClient } from "@aws-sdk/client-eventbridge";
import type { SQSBatchResponse, SQSEvent } from "aws-lambda";
import { systemClock } from "../lib/clock.ts";
import { awsClientSettings } from "../lib/config/aws.ts";
import type { Environment } from "../lib/config/environment.ts";
import { type Assembled, onDemand } from "../lib/config/function.ts";
import { connect } from "../lib/db/connect.ts";
import { logFrom } from "../lib/log/log-from.ts";
import { parcelQueueFrom } from "../lib/parcel/parcel-queue-from.ts";
import { deliverTo } from "../lib/target/deliver.ts";
import { eventTarget } from "../lib/target/event-target.ts";
import { handlerTarget } from "../lib/target/handler-target.ts";
import { queueTarget } from "../lib/target/queue-target.ts";
import { workMessages } from "../lib/worker/worker.ts";
import { handlers } from "./handlers.ts";

const connectionsMax = 2;

export function assemble(env: Environment): Assembled<SQSEvent, SQSBatchResponse> {
  const clock = systemClock;
  const log = logFrom(env, "worker");
  const queue = parcelQueueFrom(env, log);
  const events = new EventBridgeClient(awsClientSettings(env, "EVENTBRIDGE"));
  const sql = connect(env, { max: connectionsMax, applicationName: "carillon-worker" });
  const deliver = deliverTo({
    queue: queueTarget({
      sqs: queue.sqs,
      clock,
      ownUrls: Object.values(queue.urls),
    }),
    event: eventTarget({ events, clock }),
    handler: handlerTarget({ handlers, clock, log }),
  });
  const deps = { sql, log, clock, deliver, queue, random: Math.random };
  return {
    handler: (event, invocation) =>
      workMessages(deps, event.Records, () => invocation.getRemainingTimeInMillis()),
    close: async () => {
      queue.sqs.destroy();
      events.destroy();
      await sql.end();
    },
  };
}

export const handler = onDemand(assemble);
