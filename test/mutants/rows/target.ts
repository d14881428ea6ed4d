import type { Mutant } from "../mutant.ts";
import { deliveryRows } from "./deliveries.ts";
import { handlerRows } from "./handlers.ts";
import { sessionRows } from "./sessions.ts";

const attempt = "lib/target/handler/handler-attempt.ts";
const transaction = "lib/target/handler/handler-transaction.ts";
const outcomes = "lib/target/handler/handler-outcomes.ts";
const messages = "lib/target/send-messages.ts";
const events = "lib/target/put-events.ts";
const definition = "lib/job/define-job.ts";

const transactionTest = "test/target/handler-transaction.test.ts";
const handlersTest = "test/target/handler-target.test.ts";
const groupsTest = "test/target/handler-groups.test.ts";
const oddTest = "test/target/odd-handlers.test.ts";
const schedulesTest = "test/target/handler-schedules.test.ts";
const queueTest = "test/target/queue-target.test.ts";
const eventTest = "test/target/event-target.test.ts";

/** Deliveries: attempts, handlers and their transactions, queues, buses, webhooks, and what the bus is told. */
export const target: readonly Mutant[] = [
  ...deliveryRows,
  ...handlerRows,
  ...sessionRows,
  {
    name: "a handler that returns after its stop has not succeeded",
    file: attempt,
    text: "    if (stop.reason !== undefined) throw stop.reason;\n",
    replacement: "",
    tests: [transactionTest, schedulesTest],
    equivalent:
      "The stop has ended the attempt for its worker already, and the transaction refuses to commit after a stop.",
  },
  {
    name: "where every job of a group failed nothing is committed",
    file: attempt,
    text: 'if (ended.every(({ outcome }) => outcome.kind === "failed")) {',
    replacement: "if (false) {",
    tests: [groupsTest, transactionTest],
  },
  {
    name: "a job that is not held undoes the transaction",
    file: attempt,
    text: "      if (!settled.held) throw new NotHeld(job);\n",
    replacement: "",
    tests: [transactionTest, groupsTest],
  },
  {
    name: "a job that failed beside others is not settled with them",
    file: attempt,
    text: '      if (outcome.kind === "failed") continue;\n',
    replacement: '      if (outcome.kind === "failed") break;\n',
    tests: [groupsTest],
  },
  {
    name: "the neighbours of a cancelled job go back",
    file: attempt,
    text: 'kind: job === error.job ? "cancelled" : "back"',
    replacement: 'kind: "cancelled"',
    tests: [groupsTest],
  },
  {
    name: "ctx.sql takes nothing once the handler has returned",
    file: transaction,
    text: '    this.#over = { why: "The handler has ended" };\n',
    replacement: "",
    tests: [transactionTest],
  },
  {
    name: "a stop before the beginning commits nothing",
    file: transaction,
    text: "      if (this.#undone !== undefined) throw this.#undone;\n",
    replacement: "",
    tests: [transactionTest],
  },
  {
    name: "a handler has no transaction of its own beside",
    file: "lib/target/handler/rerouted.ts",
    text: 'new Set(["array", ',
    replacement: 'new Set(["begin", "array", ',
    tests: ["test/target/handler-pool.test.ts"],
  },
  {
    name: "a handler cannot end the pool",
    file: "lib/target/handler/rerouted.ts",
    text: 'new Set(["array", ',
    replacement: 'new Set(["end", "array", ',
    tests: ["test/target/handler-pool.test.ts"],
  },
  {
    name: "rechecks end",
    file: outcomes,
    text: "if (checks >= maxChecks)",
    replacement: "if (checks > maxChecks)",
    tests: [transactionTest],
  },
  {
    name: "a recheck is ahead",
    file: outcomes,
    text: "if (at <= now)\n    return {\n      ...failed(`It asked",
    replacement: "if (at < now)\n    return {\n      ...failed(`It asked",
    tests: [transactionTest],
  },
  {
    name: "an attempt again in the past is at once",
    file: outcomes,
    text: "  if (at <= now) return { ...failure, retryAt: now };\n",
    replacement: "",
    tests: [transactionTest, oddTest],
  },
  {
    name: "giving up ends a job",
    file: outcomes,
    text: '...thrown(error, true), reason: "gave-up"',
    replacement: '...thrown(error), reason: "gave-up"',
    tests: [transactionTest],
  },
  {
    name: "the ids of a group are those it was given",
    file: definition,
    text: "const ids = jobs.map(({ id }) => id);\n        return groupResults(name, ids, await runGroup(definition, [...jobs], context));",
    replacement:
      "const given = [...jobs];\n        const results = await runGroup(definition, given, context);\n        return groupResults(name, given.map(({ id }) => id), results);",
    tests: [oddTest, handlersTest],
  },
  {
    name: "what SQS does not mention has not arrived",
    file: messages,
    text: "const outcomes: Sent[] = batch.map(() => unanswered);\n",
    replacement: "const outcomes: Sent[] = batch.map(() => done);\n",
    tests: [queueTest],
  },
  {
    name: "bytes are counted, not characters",
    file: messages,
    text: "bytes: Buffer.byteLength(body) + attributeBytes(target) }",
    replacement: "bytes: body.length + attributeBytes(target) }",
    tests: ["test/target/sent-requests.test.ts"],
  },
  {
    name: "the account of a queue's ARN is its owner",
    file: messages,
    text: "const owner = account === undefined ? {} : { QueueOwnerAWSAccountId: account };",
    replacement: "const owner = {};\n  void account;",
    tests: ["test/target/sent-requests.test.ts"],
  },
  {
    name: "one bus that refuses its request fails no other",
    file: events,
    text: "await eachRequest(byBus.flatMap(requests), async (batch) => {",
    replacement: "void byBus;\n    await eachRequest(requests(entries), async (batch) => {",
    tests: [eventTest],
  },
  {
    name: "an event without an id has not arrived",
    file: events,
    text: "if (answer?.EventId !== undefined) return done;",
    replacement: "if (answer?.ErrorCode === undefined) return done;",
    tests: ["test/target/sent-requests.test.ts"],
  },
  {
    name: "an entry without an outcome has failed",
    file: "lib/target/gather-requests.ts",
    text: 'if (own === undefined) call.reject(new Error("There is no outcome for an entry of a request."));',
    replacement: 'if (own === undefined) note(call, place, { kind: "done" });',
    tests: ["test/target/sent-requests.test.ts"],
  },
  {
    name: "a job of a mixed parcel whose target says nothing has failed",
    file: "lib/target/deliver.ts",
    text: "return own.map((job, index) => [job, outcomes[index] ?? noAnswer()]);",
    replacement: 'return own.map((job, index) => [job, outcomes[index] ?? { kind: "done" }]);',
    tests: [handlersTest, "test/target/deliver.test.ts"],
  },
  {
    name: "the bus is told again what it did not take",
    file: "lib/lifecycle/tell-bus.ts",
    text: "told: answers.flatMap(({ event, answer }) => (answer?.EventId === undefined ? [] : [event.id])),",
    replacement: "told: answers.map(({ event }) => event.id),",
    tests: ["test/lifecycle/told-again.test.ts"],
  },
  {
    name: "the bus is told again of a request that failed",
    file: "lib/lifecycle/tell-bus.ts",
    text: "return { told: [], faults: [errorText(error)] };",
    replacement: "return { told: batch.map(({ event }) => event.id), faults: [errorText(error)] };",
    tests: ["test/lifecycle/told-again.test.ts"],
  },
  {
    name: "what the bus has not taken for a day is told no more",
    file: "lib/lifecycle/tell-bus.ts",
    text: "now.getTime() - at.getTime() > keptMs",
    replacement: "now.getTime() - at.getTime() > 10 * keptMs",
    tests: ["test/lifecycle/told-again.test.ts"],
  },
  {
    name: "what the bus has not taken is kept for a day",
    file: "lib/lifecycle/tell-bus.ts",
    text: "now.getTime() - at.getTime() > keptMs",
    replacement: "now.getTime() - at.getTime() > 0",
    tests: ["test/lifecycle/told-again.test.ts"],
  },
  {
    name: "claim_events: a worker that dies leaves them to be taken again",
    file: "lib/lifecycle/sql/claim_events.sql",
    text: "update carillon.outbox o set tries = least(o.tries + 1, 100), offer_at = v_now + interval '1 minute' * power(2, least(o.tries, 3))",
    replacement: "update carillon.outbox o set tries = least(o.tries + 1, 100), offer_at = 'infinity'",
    tests: ["test/lifecycle/told-again.test.ts"],
  },
  {
    name: "the gates of a group's rechecks come in order",
    file: attempt,
    text: "ended.toSorted(\n      (a, b) => shardOf(a.job.scheduleId) - shardOf(b.job.scheduleId),\n    )",
    replacement: "ended",
    tests: ["test/target/gate-order.test.ts"],
  },
  {
    name: "the gates of edits beside a recheck are those of both",
    file: attempt,
    text: "schedules: passing };",
    replacement: "schedules: [] };\n    void passing;",
    tests: ["test/target/gate-order.test.ts"],
  },
  {
    name: "a stop before the beginning sends nothing",
    file: transaction,
    text: "      if (this.#undone !== undefined) return statement.reject(this.#undone);\n",
    replacement: "",
    tests: ["test/target/stopped-transaction.test.ts"],
  },
  {
    name: "a group's jobs of one handler only run together",
    file: "lib/target/handler/handler-target.ts",
    text: "`${handler.name} ${job.group}` : null",
    replacement: "`${job.group}` : null",
    tests: ["test/target/two-grouped-handlers.test.ts"],
  },
  {
    name: "a grouped handler's list is its own",
    file: definition,
    text: "runGroup(definition, [...jobs], context)",
    replacement: "runGroup(definition, jobs, context)",
    tests: [oddTest, handlersTest],
    equivalent:
      "The list is made for this run alone, and is not read again after the ids were taken from it.",
  },
  {
    name: "a worker that cannot tell the bus works its jobs all the same",
    file: "lib/lifecycle/parcel-events.ts",
    text: '      deps.log.warn("lifecycle.left", { error: errorText(error) });\n',
    replacement: "      throw error;\n",
    tests: ["test/lifecycle/untold-work.test.ts"],
  },
];
