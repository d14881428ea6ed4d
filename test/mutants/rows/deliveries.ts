import type { Mutant } from "../mutant.ts";

const messages = "lib/target/send-messages.ts";
const webhook = "lib/target/webhook-target.ts";
const handlersTest = "test/target/handler-target.test.ts";
const queueTest = "test/target/queue-target.test.ts";
const pulsesTest = "test/target/send-pulses.test.ts";
const webhookTest = "test/target/webhook-target.test.ts";
const slowTest = "test/target/slow-service.test.ts";
const gatherTest = "test/target/gather-requests.test.ts";

/** Deliveries to queues, webhooks and functions, and events to the bus. */
export const deliveryRows: readonly Mutant[] = [
  {
    name: "a message that SQS refuses counts as not delivered",
    file: messages,
    text: 'outcomes[Number(Id)] = failed(`SQS refused the message: ${Code} ${Message ?? ""}`);',
    replacement: "void [Id, Code, Message];",
    tests: [queueTest],
  },
  {
    name: "Carillon's own queues are not allowed as targets",
    file: messages,
    text: "return isOwn(url)\n",
    replacement: "return deps.ownUrls.includes(url)\n",
    tests: [queueTest],
  },
  {
    name: "Carillon's own queues are not allowed as targets in another account of an emulator",
    file: messages,
    text: "inAws.test(url) ? 2 : 1",
    replacement: "2",
    tests: [queueTest],
  },
  {
    name: "a missing queue is looked up again",
    file: messages,
    text: "    finding.catch(() => urls.delete(queue));\n",
    replacement: "    finding.catch(() => {});\n",
    tests: [queueTest],
  },
  {
    name: "a queue of another region is not looked up here",
    file: messages,
    text: "if (named !== undefined && named !== own)",
    replacement: "if (false)",
    tests: [queueTest],
  },
  {
    name: "a queue of another region is refused permanently",
    file: messages,
    text: "thrown(error, error instanceof OtherRegion)",
    replacement: "thrown(error)",
    tests: [queueTest],
  },
  {
    name: "a FIFO queue gets its messages in order",
    file: messages,
    text: 'const sender = url.endsWith(".fifo") ? inOrder(whole) : gathered(parts);',
    replacement: "const sender = gathered(parts);\n    void [inOrder, whole];",
    tests: ["test/target/fifo-order.test.ts"],
  },
  {
    name: "a FIFO queue gets the job's id as the deduplication id",
    file: messages,
    text: "  if (isFifo) made.MessageDeduplicationId = id;\n",
    replacement: "  if (isFifo) made.MessageDeduplicationId = `${id}/${place}`;\n",
    tests: [queueTest, pulsesTest],
  },
  {
    name: "the attributes count for SQS's size limit",
    file: messages,
    text: "bytes: Buffer.byteLength(body) + attributeBytes(target) }",
    replacement: "bytes: Buffer.byteLength(body) + 0 * attributeBytes(target) }",
    tests: [queueTest],
  },
  {
    name: "a request that throws fails only its own entries",
    file: "lib/target/gather-requests.ts",
    text: "      for (const { call } of batch) call.reject(error);\n",
    replacement: "      for (const { call } of [...batch, ...waiting]) call.reject(error);\n",
    tests: [gatherTest],
  },
  {
    name: "no request begins when time is short",
    file: "lib/target/sending.ts",
    text: "return this.#timeLeftMs() < sendingMinMs ?",
    replacement: "return this.#timeLeftMs() < 0 ?",
    tests: [slowTest],
  },
  {
    name: "no request is sent to a queue after another one timed out",
    file: "lib/target/sending.ts",
    text: "this.#silence ??= sent.find(isUnanswered);",
    replacement: "void sent.find(isUnanswered);",
    tests: [slowTest],
  },
  {
    name: "a lookup of a queue that times out counts as a timeout",
    file: messages,
    text: "    sending.heard([url]);\n",
    replacement: "",
    tests: [slowTest],
  },
  {
    name: "jobs of several parcels for a queue are returned when time is short",
    file: "lib/target/gather-requests.ts",
    text: "      if (over !== undefined) {",
    replacement: "      if (over !== undefined && false) {",
    tests: [gatherTest, slowTest],
  },
  {
    name: "a FIFO queue gets no message after a refused one of its group",
    file: messages,
    text: 'if (outcome.kind !== "done") refused.add(messageGroup(each));',
    replacement: "void refused;",
    tests: ["test/target/fifo-order.test.ts"],
  },
  {
    name: "410 Gone holds the schedule",
    file: webhook,
    text: ', hold: "The receiver answered 410 Gone." }',
    replacement: " }",
    tests: [webhookTest],
  },
  {
    name: "a redirect is not a success",
    file: webhook,
    text: "if (status >= 200 && status < 300) return done;",
    replacement: "if (status >= 200 && status < 400) return done;",
    tests: [webhookTest],
  },
  {
    name: "a receiver's timeout has an upper limit",
    file: webhook,
    text: "Math.min(ms, retryAfterMaxMs)",
    replacement: "ms",
    tests: [webhookTest],
  },
  {
    name: "Retry-After of zero is no wait",
    file: webhook,
    text: "retryAfterMs === null || retryAfterMs <= 0 ?",
    replacement: "retryAfterMs === null ?",
    tests: [webhookTest],
  },
  {
    name: "a webhook ends before its attempt does",
    file: webhook,
    text: "Math.floor(attemptMs - Math.min(answerMaxMs, attemptMs / 10))",
    replacement: "Math.floor(attemptMs)",
    tests: [webhookTest],
  },
  {
    name: "a webhook ends before the worker does",
    file: webhook,
    text: "Math.min(timeoutMsOf(job.timeout), context.timeLeftMs() - settleMs)",
    replacement: "timeoutMsOf(job.timeout)",
    tests: [webhookTest],
  },
  {
    name: "a function of another region is not looked up here",
    file: "lib/target/lambda-target.ts",
    text: "if (region !== undefined && region !== own)",
    replacement: "if (false)",
    tests: ["test/target/lambda-target.test.ts"],
  },
  {
    name: "a job without an answer of its target has failed",
    file: "lib/target/deliver.ts",
    text: "if (outcomes !== null) return jobs.map((_, index) => outcomes[index] ?? noAnswer());",
    replacement: 'if (outcomes !== null) return jobs.map((_, index) => outcomes[index] ?? { kind: "done" });',
    tests: [handlersTest, "test/target/deliver.test.ts"],
  },
  {
    name: "an envelope of a batch that was refused permanently is not retried",
    file: "lib/target/send-pulses.ts",
    text: 'else if (each.kind === "failed" && each.giveUp) outcome.refused += envelopes.length;\n',
    replacement: "",
    tests: [pulsesTest],
  },
  {
    name: "a batch of pulses is within SQS's limit",
    file: "lib/target/send-pulses.ts",
    text: "if (batch.length === size || (batch.length > 0 && bytes + own > messageBytesMax)) {",
    replacement: "if (batch.length === size) {",
    tests: [pulsesTest],
  },
  {
    name: "claim_events: two workers do not claim the same events",
    file: "lib/lifecycle/sql/claim_events.sql",
    text: "where o.tries = 0 order by o.id limit p_limit for update skip locked) f;",
    replacement: "where o.tries <= 1 order by o.id limit p_limit for update skip locked) f;",
    tests: ["test/lifecycle/told-again.test.ts"],
  },
  {
    name: "a payload that makes the schema throw is refused",
    file: "lib/job/read-payload.ts",
    text: 'return [{ path: "payload", message: `cannot be read: ${whyUnread(error)}` }];',
    replacement: "void whyUnread;\n    return null;",
    tests: ["test/job/read-payload.test.ts"],
  },
  {
    name: "a rejected promise of a schema counts as handled",
    file: "lib/job/handled-promises.ts",
    text: "    for (const promise of own) markHandled(promise);\n",
    replacement: "",
    tests: ["test/job/read-payload.test.ts"],
  },
  {
    name: "a schema gets a copy of the payload",
    file: "lib/job/read-payload.ts",
    text: "readPayload(handler, structuredClone(payload))",
    replacement: "readPayload(handler, payload)",
    tests: ["test/job/read-payload.test.ts"],
  },
  {
    name: "an answer of the webhook sender may have members that the worker does not know",
    file: "lib/target/webhook-function.ts",
    text: '  z.object({\n    kind: z.literal("answered"),',
    replacement: '  z.strictObject({\n    kind: z.literal("answered"),',
    tests: ["test/target/webhook-function.test.ts"],
  },
];
