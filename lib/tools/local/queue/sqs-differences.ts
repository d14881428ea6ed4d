import { functionsKeyId, localRegion } from "../local-account.ts";
import type { QueueStore, StoredQueue } from "./emulator-parts.ts";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "./fastify-shape.ts";

const delaySecondsMax = 900;
/** SQS's form of a message group. */
const groupForm = /^[\w!"#$%&'()*+,./:;<=>?@[\\\]^`{|}~-]{1,128}$/;
const sends = new Set(["SendMessage", "SendMessageBatch"]);
const namesQueue = new Set([...sends, "GetQueueUrl"]);

/**
 * Behaviour that the emulator lacks: one region for all clients, SQS's limit for delays, creating
 * the functions' queues on first use, and returning messages of clients that disconnected. The order
 * of messages with groups is that of `fairQueues`.
 */
export function mendDifferences(
  app: FastifyInstance,
  store: QueueStore,
  makeQueue: (name: string) => StoredQueue,
): void {
  app.addHook("onRequest", async (request) => {
    // The emulator keys queues by the region of the client's signature, but stores and finds them
    // by name alone.
    const { authorization } = request.headers;
    if (authorization !== undefined) {
      request.headers.authorization = authorization.replace(
        /(Credential=\S+?\/\d{8}\/)[^/]+/,
        `$1${localRegion}`,
      );
    }
  });
  app.addHook("preHandler", async (request, reply) => {
    const name = requestedQueue(request);
    if (name !== undefined && isFromFunctions(request)) makeQueue(name);
    if (delays(request).some((seconds) => seconds > delaySecondsMax))
      return refuse(reply, `DelaySeconds must be between 0 and ${delaySecondsMax}.`);
    if (messagesIn(request).some((message) => !groupForm.test(text(message, "MessageGroupId") ?? "none")))
      return refuse(reply, "MessageGroupId must be 1 to 128 letters, digits and punctuation marks.");
    return undefined;
  });
  app.addHook("preSerialization", async (request, _reply, payload) => {
    // A client that disconnected during a long poll cannot delete the messages of the response.
    if (request.raw.socket.destroyed && actionOf(request) === "ReceiveMessage") {
      for (const handle of receiptHandles(payload)) {
        store.getQueue(text(request.body, "QueueUrl") ?? "")?.changeVisibility(handle, 0);
      }
    }
    return payload;
  });
}

function actionOf(request: FastifyRequest): string {
  return String(request.headers["x-amz-target"] ?? "").replace("AmazonSQS.", "");
}

function isFromFunctions(request: FastifyRequest): boolean {
  return request.headers.authorization?.includes(`Credential=${functionsKeyId}/`) ?? false;
}

/**
 * A target may name a queue that does not exist yet. It is created for the functions; other clients
 * get SQS's own error.
 */
function requestedQueue(request: FastifyRequest): string | undefined {
  if (!namesQueue.has(actionOf(request))) return undefined;
  const name = text(request.body, "QueueName") ?? text(request.body, "QueueUrl")?.split("/").at(-1);
  return name !== undefined && /^[\w-]{1,80}$|^[\w-]{1,75}\.fifo$/.test(name) ? name : undefined;
}

/** The messages that a request sends. */
function messagesIn(request: FastifyRequest): unknown[] {
  if (!sends.has(actionOf(request))) return [];
  const entries = property(request.body, "Entries");
  return Array.isArray(entries) ? entries : [request.body];
}

/** Changes each queue that there is, and each that is made later. */
export function changeQueues(store: QueueStore, change: (queue: StoredQueue) => StoredQueue): void {
  for (const queue of store.allQueues()) change(queue);
  const create = store.createQueue.bind(store);
  store.createQueue = (...args) => change(create(...args));
}

/**
 * The attributes of each message that a request sends, by which the stored message is known again: the
 * emulator keeps the object.
 */
export function attributesSent(request: FastifyRequest): { message: unknown; attributes: object }[] {
  return messagesIn(request).flatMap((message) => {
    if (typeof message !== "object" || message === null) return [];
    const attributes = property(message, "MessageAttributes") ?? {};
    if (typeof attributes !== "object" || attributes === null) return [];
    Reflect.set(message, "MessageAttributes", attributes);
    return [{ message, attributes }];
  });
}

function delays(request: FastifyRequest): number[] {
  return messagesIn(request).map((message) => Number(property(message, "DelaySeconds") ?? 0));
}

function refuse(reply: FastifyReply, message: string): FastifyReply {
  return reply
    .status(400)
    .header("content-type", "application/x-amz-json-1.0")
    .send({ __type: "com.amazonaws.sqs#InvalidParameterValue", message });
}

function receiptHandles(payload: unknown): string[] {
  const messages = property(payload, "Messages");
  if (!Array.isArray(messages)) return [];
  return messages.flatMap((message) => text(message, "ReceiptHandle") ?? []);
}

export function text(of: unknown, name: string): string | undefined {
  const value = property(of, name);
  return typeof value === "string" ? value : undefined;
}

export function property(of: unknown, name: string): unknown {
  return typeof of === "object" && of !== null ? Reflect.get(of, name) : undefined;
}
