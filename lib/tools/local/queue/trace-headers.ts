import { BoundedMap } from "../../../bounded-map.ts";
import type { QueueStore, StoredQueue } from "./emulator-parts.ts";
import type { FastifyInstance, FastifyRequest } from "./fastify-shape.ts";
import { attributesSent, changeQueues, property, text } from "./sqs-differences.ts";

/** The traces of messages that are being sent, by their attributes, which the emulator stores. */
const tracesSent = new WeakMap<object, string>();

const keptMax = 50_000;

/**
 * Returns the trace header of a request with the messages that it sent, as SQS does; Lambda counts
 * by it how often one event leads back to a function. Traces are not stored: a start begins new
 * chains.
 */
export function traceHeaders(app: FastifyInstance, store: QueueStore): void {
  /** By the id of the message. */
  const traces = new BoundedMap<string, string>(keptMax);
  changeQueues(store, (queue) => keepTraces(queue, traces));
  app.addHook("preHandler", async (request) => {
    const trace = request.headers["x-amzn-trace-id"];
    if (typeof trace !== "string") return;
    for (const { attributes } of attributesSent(request)) tracesSent.set(attributes, trace);
  });
  app.addHook("preSerialization", async (request, _reply, payload) => {
    const messages = property(payload, "Messages");
    if (!asksForTraces(request) || !Array.isArray(messages)) return payload;
    for (const message of messages) {
      const trace = traces.get(text(message, "MessageId") ?? "");
      if (trace === undefined) continue;
      const attributes = Object(property(message, "Attributes"));
      Reflect.set(message, "Attributes", { ...attributes, AWSTraceHeader: trace });
    }
    return payload;
  });
}

function keepTraces(queue: StoredQueue, traces: Map<string, string>): StoredQueue {
  const enqueue = queue.enqueue.bind(queue);
  queue.enqueue = (message) => {
    const trace = tracesSent.get(message.messageAttributes);
    if (trace !== undefined) traces.set(message.messageId, trace);
    enqueue(message);
  };
  return queue;
}

function asksForTraces({ body }: FastifyRequest): boolean {
  const names = ["AttributeNames", "MessageSystemAttributeNames"].flatMap(
    (name) => property(body, name) ?? [],
  );
  return names.includes("All") || names.includes("AWSTraceHeader");
}
