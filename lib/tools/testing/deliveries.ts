import { EventBridgeClient } from "@aws-sdk/client-eventbridge";
import { LambdaClient } from "@aws-sdk/client-lambda";
import type { Clock } from "../../clock.ts";
import { type OpenedKeys, openCredentials } from "../../sealing/open-credentials.ts";
import type { SendWebhook } from "../../target/webhook-target.ts";
import { webhookHeaders } from "../../webhook/webhook-headers.ts";
import type { WebhookAnswer, WebhookRequest } from "../../webhook/webhook-request.ts";
import type { MemoryQueue } from "./memory-queue.ts";
import type { Delivery, Envelope, Notice } from "./shapes.ts";

export interface Captured {
  deliveries: Delivery[];
  notices: Notice[];
  events: EventBridgeClient;
  lambda: LambdaClient;
  sendWebhook: SendWebhook;
}

/** Waits as long as the test says that the target of a schedule takes. */
export type TakeTime = (key: string) => Promise<void>;

export interface CapturedParts {
  clock: Clock;
  queue: MemoryQueue;
  takeTime: TakeTime;
  /** Sends a webhook for real; undefined where its address is not one that this is allowed for. */
  send: ((request: WebhookRequest) => Promise<WebhookAnswer> | undefined) | undefined;
  /** Opens the credentials of webhooks. */
  opened: OpenedKeys;
}

const account = { region: "us-east-1", credentials: { accessKeyId: "test", secretAccessKey: "test" } };

/**
 * Replaces the network behind the targets: the clients are the real ones, and are answered before
 * they would use it. Everything that they would have sent is kept.
 */
export function captured({ clock, queue, takeTime, send, opened }: CapturedParts): Captured {
  const deliveries: Delivery[] = [];
  const notices: Notice[] = [];
  const keep = (to: Delivery["to"], target: string, body: string, more: Partial<Delivery> = {}): Envelope => {
    const message: Envelope = JSON.parse(body);
    const at = clock.now().toISOString();
    deliveries.push({ to, target, at, key: message.schedulekey, payload: message.data, message, ...more });
    return message;
  };
  queue.elsewhere = (command, input) => answerQueues(command, input, keep);

  const events = new EventBridgeClient(account);
  events.middlewareStack.add(
    () =>
      async ({ input }) => {
        const entries = "Entries" in input ? (input.Entries ?? []) : [];
        for (const entry of entries) {
          const { Source = "", DetailType = "", Detail = "{}" } = entry;
          const bus = "EventBusName" in entry ? entry.EventBusName : undefined;
          const detail: unknown = JSON.parse(Detail);
          if (isMessage(detail))
            keep("event", String(bus ?? "default"), Detail, { detailType: DetailType, source: Source });
          else notices.push({ detailType: DetailType, at: clock.now().toISOString(), detail });
        }
        const Entries = entries.map((_, index) => ({ EventId: `event-${index}` }));
        return { output: { FailedEntryCount: 0, Entries, $metadata: {} }, response: {} };
      },
    { step: "initialize" },
  );

  const lambda = new LambdaClient({ ...account, maxAttempts: 1 });
  lambda.middlewareStack.add(
    () =>
      async ({ input }) => {
        if (!("FunctionName" in input && "Payload" in input && input.Payload instanceof Uint8Array))
          throw new Error("The test kit answers calls of functions alone.");
        const body = Buffer.from(input.Payload).toString();
        const { schedulekey } = keep("lambda", input.FunctionName ?? "", body);
        await takeTime(schedulekey);
        return { output: { StatusCode: 200, $metadata: {} }, response: {} };
      },
    { step: "initialize" },
  );

  const sendWebhook: SendWebhook = async (sealed) => {
    const request = await openCredentials(opened, sealed);
    const headers = webhookHeaders(request, {
      host: new URL(request.url).host,
      now: clock.now(),
      body: Buffer.from(request.body),
    });
    const { schedulekey } = keep("webhook", request.url, request.body, { headers });
    await takeTime(schedulekey);
    const answer = await send?.(request);
    return answer ?? { kind: "answered", status: 200, retryAfterMs: null, excerpt: "" };
  };
  return { deliveries, notices, events, lambda, sendWebhook };
}

/** Carillon's own events about jobs are envelopes too, of other types. */
const isMessage = (detail: unknown): boolean => Reflect.get(Object(detail), "type") === "carillon.job.due";

const queueBase = "https://sqs.us-east-1.amazonaws.com/000000000000/";

function answerQueues(
  command: string,
  input: object,
  keep: (to: "queue", queue: string, body: string, more: Partial<Delivery>) => unknown,
): object {
  if (command === "GetQueueUrlCommand")
    return { QueueUrl: `${queueBase}${String(Reflect.get(input, "QueueName"))}` };
  if (command !== "SendMessageBatchCommand") throw new Error(`The test kit has no answer to ${command}.`);
  const { QueueUrl = "", Entries = [] }: { QueueUrl?: string; Entries?: QueueEntry[] } = input;
  for (const { MessageBody = "", MessageGroupId } of Entries)
    keep("queue", QueueUrl.split("/").at(-1) ?? "", MessageBody, {
      ...(MessageGroupId === undefined ? {} : { messageGroupId: MessageGroupId }),
    });
  return { Successful: Entries.map(({ Id }) => ({ Id, MessageId: "m", MD5OfMessageBody: "" })), Failed: [] };
}

interface QueueEntry {
  Id?: string;
  MessageBody?: string;
  MessageGroupId?: string;
}
