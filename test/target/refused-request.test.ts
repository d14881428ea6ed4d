import { EventBridgeClient } from "@aws-sdk/client-eventbridge";
import { SQSClient } from "@aws-sdk/client-sqs";
import { expect, test } from "vitest";
import * as z from "zod";
import type { Json } from "../../lib/schedule/shape/json.ts";
import { eventTarget } from "../../lib/target/event-target.ts";
import { queueTarget } from "../../lib/target/queue-target.ts";
import { claimedJob } from "../support/claimed-job.ts";
import { deliveryContext } from "../support/delivery-context.ts";
import { monday } from "../support/instants.ts";
import { manualClock } from "../support/manual-clock.ts";

/** One job for which the service refuses the whole request, or whose message cannot be made. */

const config = { region: "us-east-1", credentials: { accessKeyId: "a", secretAccessKey: "b" } };
const clock = manualClock(monday);
const url = "https://sqs.us-east-1.amazonaws.com/000000000000/demo";

const askedShape = z.object({
  Entries: z.array(z.looseObject({ Id: z.string().optional(), Detail: z.string().optional() })),
});

let requests = 0;

/** Refuses each request that contains this text, with an error of this name. */
function refusing(text: string, name: string) {
  requests = 0;
  return async ({ input }: { input: unknown }) => {
    requests += 1;
    const { Entries } = askedShape.parse(input);
    if (JSON.stringify(Entries).includes(text)) throw Object.assign(new Error("not so"), { name });
    const taken = { Successful: Entries, Entries: Entries.map(() => ({ EventId: "1" })) };
    return { response: {}, output: { $metadata: {}, ...taken } };
  };
}

function queue(name: string) {
  const sqs = new SQSClient({ ...config, useQueueUrlAsEndpoint: false });
  sqs.middlewareStack.add(() => refusing("odd", name), { step: "initialize", priority: "high" });
  const deliver = queueTarget({ sqs, clock, ownUrls: [] });
  return (payloads: readonly Json[]) =>
    deliver(
      payloads.map((payload, n) => claimedJob({ queue: url }, { key: `k${n}`, payload })),
      deliveryContext(),
    );
}

function bus(name: string) {
  const events = new EventBridgeClient(config);
  events.middlewareStack.add(() => refusing("odd", name), { step: "initialize", priority: "high" });
  const deliver = eventTarget({ events, clock, sources: ["carillon"] });
  const event = { bus: "default", source: "carillon", detailType: "carillon.job.due" };
  return (payloads: readonly Json[]) =>
    deliver(
      payloads.map((payload, n) => claimedJob({ event }, { key: `k${n}`, payload })),
      deliveryContext(),
    );
}

const kinds = (outcomes: readonly { kind: string }[]) => outcomes.map(({ kind }) => kind);
const oddAmongFive = ["a", "b", "odd", "d", "e"];
const alone = ["done", "done", "failed", "done", "done"];

test.each([
  ["queue", queue, "InvalidParameterValue"],
  ["bus", bus, "SerializationException"],
])("a job for a %s that has its whole request refused fails alone", async (_, target, name) => {
  expect(kinds(await target(name)(oddAmongFive))).toEqual(alone);
  expect(requests).toBeLessThanOrEqual(2 * oddAmongFive.length - 1);
});

test.each([
  ["queue", queue, "AccessDenied"],
  ["bus", bus, "TimeoutError"],
])("a request for a %s that is refused for another reason is not divided", async (_, target, name) => {
  expect(kinds(await target(name)(oddAmongFive))).toEqual(Array(5).fill("failed"));
  expect(requests).toBe(1);
});

/** The API refuses such a payload; SQL could write it. */
const deepest = Array.from({ length: 20_000 }).reduce<Json>((inner) => [inner], 1);

test.each([
  ["queue", queue],
  ["bus", bus],
])("a job for a %s whose message cannot be made fails alone", async (_, target) => {
  const outcomes = await target("none")(["a", "b", deepest, "d", "e"]);
  expect(kinds(outcomes)).toEqual(alone);
  expect(outcomes[2]).toMatchObject({ error: expect.stringContaining("RangeError") });
});
