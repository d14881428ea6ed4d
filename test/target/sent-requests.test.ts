import { EventBridgeClient } from "@aws-sdk/client-eventbridge";
import { SQSClient } from "@aws-sdk/client-sqs";
import { expect, test } from "vitest";
import * as z from "zod";
import { systemClock } from "../../lib/clock.ts";
import { done } from "../../lib/target/delivery.ts";
import { gathered } from "../../lib/target/gather-requests.ts";
import { eventSender } from "../../lib/target/put-events.ts";
import { messageSender } from "../../lib/target/send-messages.ts";
import { Sending } from "../../lib/target/sending.ts";
import { timeEnough } from "../support/delivery-context.ts";
import { at } from "../support/instants.ts";

const config = { region: "us-east-1", credentials: { accessKeyId: "a", secretAccessKey: "b" } };

const askedShape = z.object({
  QueueName: z.string().optional(),
  QueueOwnerAWSAccountId: z.string().optional(),
  Entries: z.array(z.object({ Id: z.string() })).optional(),
});
type Asked = z.infer<typeof askedShape>;

/** An SQS that knows every queue and takes every message, and the requests that it received. */
function sqsOf(asked: Asked[]): SQSClient {
  const sqs = new SQSClient(config);
  sqs.middlewareStack.add(
    () => async (args) => {
      const input = askedShape.parse(args.input);
      asked.push(input);
      const Successful = (input.Entries ?? []).map(({ Id }) => ({ Id }));
      return {
        response: {},
        output: { $metadata: {}, QueueUrl: "https://sqs.us-east-1.amazonaws.com/1/q", Successful },
      };
    },
    { step: "initialize", priority: "high" },
  );
  return sqs;
}

const message = (queue: string, body = "{}") => ({ body, target: { queue }, id: "1", orderedBy: "" });

test("a queue that is named by its ARN is looked up in the account of the ARN", async () => {
  const asked: Asked[] = [];
  const send = messageSender({ sqs: sqsOf(asked), ownUrls: [], clock: systemClock });
  expect(await send([message("arn:aws:sqs:us-east-1:123456789012:orders")], timeEnough)).toEqual([done]);
  // Carillon's own account may have a queue of the same name, which would get the messages of the
  // other.
  expect(asked[0]).toMatchObject({ QueueName: "orders", QueueOwnerAWSAccountId: "123456789012" });
});

test("messages of characters of two bytes go in requests of a quarter of a megabyte", async () => {
  const asked: Asked[] = [];
  const send = messageSender({ sqs: sqsOf(asked), ownUrls: [], clock: systemClock });
  const large = message("https://sqs.us-east-1.amazonaws.com/1/q", "ü".repeat(75_000));
  expect(await send([large, large], timeEnough)).toEqual([done, done]);
  // SQS would refuse both in one request, at each attempt.
  expect(asked.map(({ Entries }) => Entries?.length)).toEqual([1, 1]);
});

test("an event without an id and without an error in the answer has not arrived", async () => {
  const client = new EventBridgeClient(config);
  client.middlewareStack.add(() => async () => ({ response: {}, output: { $metadata: {}, Entries: [{}] } }), {
    step: "initialize",
    priority: "high",
  });
  const target = { event: { bus: "default", source: "carillon", detailType: "due" } };
  // If it counted as done, its job would be lost.
  expect(
    await eventSender({ events: client, clock: systemClock, sources: ["carillon"] })(
      [{ detail: "{}", time: at(0), target }],
      timeEnough,
    ),
  ).toMatchObject([{ kind: "failed", giveUp: false }]);
});

test("an entry without an outcome does not count as a success of its job", async () => {
  const send = gathered<{ bytes: number }>(async () => []);
  await expect(send([{ bytes: 1 }], new Sending(timeEnough))).rejects.toThrow("There is no outcome");
});
