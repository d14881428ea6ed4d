import { systemTiming } from "../../../clock.ts";
import type { QueueStore, StoredMessage, StoredQueue } from "./emulator-parts.ts";
import { type Group, nextFairly } from "./fair-order.ts";
import type { FastifyInstance } from "./fastify-shape.ts";
import { attributesSent, changeQueues, text } from "./sqs-differences.ts";

/** Time that receivers spent this long ago counts half. */
const halfLifeMs = 10_000;

/** The groups of messages that are being sent, by their attributes, which the emulator stores. */
const groupsSent = new WeakMap<object, string>();

/**
 * Delivers the messages of standard queues in the order of SQS's fair queues. The emulator drops
 * the message group of such a message: it is read from the request, and set when the message is
 * stored. In a FIFO queue the group means something else, and stays the emulator's.
 */
export function fairQueues(app: FastifyInstance, store: QueueStore): void {
  changeQueues(store, deliverFairly);
  app.addHook("preHandler", async (request) => {
    for (const { message, attributes } of attributesSent(request)) {
      const group = text(message, "MessageGroupId");
      if (group !== undefined) groupsSent.set(attributes, group);
    }
  });
}

function deliverFairly(queue: StoredQueue): StoredQueue {
  if (queue.name.endsWith(".fifo")) return queue;
  let hasGroups = [...queue.messages, ...queue.delayedMessages].some(isGrouped);
  const times = receivingTimes(queue);
  const { enqueue, dequeue, deleteMessage, changeVisibility } = bound(queue);
  queue.enqueue = (message) => {
    message.messageGroupId ??= groupsSent.get(message.messageAttributes);
    hasGroups ||= isGrouped(message);
    enqueue(message);
  };
  queue.dequeue = (most, ...rest) => {
    if (hasGroups) {
      queue.processTimers();
      bringForward(queue, most, times.shares());
    }
    const received = dequeue(most, ...rest);
    for (const { ReceiptHandle } of received) times.begin(ReceiptHandle);
    return received;
  };
  queue.deleteMessage = (handle) => {
    times.end(handle);
    return deleteMessage(handle);
  };
  queue.changeVisibility = (handle, seconds) => {
    if (seconds === 0) times.end(handle);
    changeVisibility(handle, seconds);
  };
  return queue;
}

const isGrouped = ({ messageGroupId }: StoredMessage) => messageGroupId !== undefined;

function bound(queue: StoredQueue) {
  return {
    enqueue: queue.enqueue.bind(queue),
    dequeue: queue.dequeue.bind(queue),
    deleteMessage: queue.deleteMessage.bind(queue),
    changeVisibility: queue.changeVisibility.bind(queue),
  };
}

/** The emulator delivers from the front. */
function bringForward(queue: StoredQueue, most: number, timeShares: ReadonlyMap<string, number>): void {
  const { messages } = queue;
  const inFlight = [...queue.inflightMessages.values()].map(({ message }) => message.messageGroupId);
  const next = nextFairly(
    messages.values().map(({ messageGroupId }) => messageGroupId),
    most,
    { inFlight, timeShares },
  );
  if (next.every((position, index) => position === index)) return;
  const first = next.flatMap((position) => messages[position] ?? []);
  for (const position of next.toSorted((a, b) => b - a)) messages.splice(position, 1);
  messages.unshift(...first);
}

/** How long receivers have had messages of each group, those in flight included. */
function receivingTimes(queue: StoredQueue) {
  const begun = new Map<string, number>();
  const spent = new Map<Group, number>();
  let countedAt = systemTiming.now();
  const fade = (now: number) => {
    const factor = 0.5 ** ((now - countedAt) / halfLifeMs);
    for (const [group, ms] of spent) spent.set(group, ms * factor);
    countedAt = now;
  };
  return {
    begin: (handle: string) => void begun.set(handle, systemTiming.now()),
    end: (handle: string) => {
      const at = begun.get(handle);
      const message = queue.inflightMessages.get(handle)?.message;
      begun.delete(handle);
      if (at === undefined || message === undefined) return;
      const now = systemTiming.now();
      fade(now);
      spent.set(message.messageGroupId, (spent.get(message.messageGroupId) ?? 0) + now - at);
    },
    shares: (): ReadonlyMap<string, number> => {
      const now = systemTiming.now();
      fade(now);
      const sums = new Map(spent);
      for (const [handle, { message }] of queue.inflightMessages) {
        const group = message.messageGroupId;
        sums.set(group, (sums.get(group) ?? 0) + now - (begun.get(handle) ?? now));
      }
      const all = [...sums.values()].reduce((sum, ms) => sum + ms, 0);
      return new Map([...sums].flatMap(([group, ms]) => (group === undefined ? [] : [[group, ms / all]])));
    },
  };
}
