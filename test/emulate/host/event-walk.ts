import assert from "node:assert/strict";
import {
  DeleteRuleCommand,
  EventBridgeClient,
  PutRuleCommand,
  PutTargetsCommand,
  RemoveTargetsCommand,
} from "@aws-sdk/client-eventbridge";
import {
  CreateQueueCommand,
  DeleteQueueCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";
import { z } from "zod";
import { Carillon } from "../../../lib/client/carillon.ts";
import type { SmokeSettings } from "../../smoke/smoke-settings.ts";

const key = "host:event";
const name = "carillon-target-host-event";
const detailType = "host.walked";
const payload = { by: key };
const POLLS_MAX = 12;
const POLL_SECONDS = 5;

const arrived = z.looseObject({
  source: z.literal("carillon"),
  "detail-type": z.literal(detailType),
  detail: z.looseObject({ data: z.unknown() }),
});

/**
 * A schedule whose target is the default bus, a rule on that bus, and a queue behind the rule: the smoke test has no
 * events. Bus, rule and queue are LocalStack's.
 */
export async function walkEvents({ url, token }: Pick<SmokeSettings, "url" | "token">): Promise<void> {
  const sqs = new SQSClient({});
  const events = new EventBridgeClient({});
  try {
    const { QueueUrl = "" } = await sqs.send(new CreateQueueCommand({ QueueName: name }));
    const wanted = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ["QueueArn"] });
    const { Attributes } = await sqs.send(wanted);
    const EventPattern = JSON.stringify({ source: ["carillon"], "detail-type": [detailType] });
    await events.send(new PutRuleCommand({ Name: name, EventPattern }));
    const Targets = [{ Id: "queue", Arn: Attributes?.QueueArn }];
    await events.send(new PutTargetsCommand({ Rule: name, Targets }));
    const carillon = new Carillon({ url, token });
    await carillon.schedules.put(key, { when: "in 1s", target: { event: { detailType } }, payload });
    const body = await received(sqs, QueueUrl);
    assert.deepEqual(arrived.parse(JSON.parse(body)).detail.data, payload);
    await carillon.schedules.delete(key);
    await events.send(new RemoveTargetsCommand({ Rule: name, Ids: ["queue"] }));
    await events.send(new DeleteRuleCommand({ Name: name }));
    await sqs.send(new DeleteQueueCommand({ QueueUrl }));
  } finally {
    sqs.destroy();
    events.destroy();
  }
}

async function received(sqs: SQSClient, QueueUrl: string): Promise<string> {
  for (let polls = 0; polls < POLLS_MAX; polls++) {
    const poll = new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: POLL_SECONDS });
    const { Messages = [] } = await sqs.send(poll);
    for (const { Body } of Messages) if (Body !== undefined) return Body;
  }
  throw new Error(`No event arrived within ${POLLS_MAX * POLL_SECONDS} s.`);
}
