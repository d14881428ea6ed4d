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

/**
 * Deliveries: attempts, handlers and their transactions, queues, buses, webhooks, and the events
 * for the bus.
 */
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
    name: "a worker sends no event that the deployment does not allow",
    file: events,
    text: "forbidden(sources, target) ?? unanswered",
    replacement: "unanswered",
    tests: [eventTest],
  },
  {
    name: "nothing is committed when every job of a group failed",
    file: attempt,
    text: 'if (ended.every(({ outcome }) => outcome.kind === "failed")) {',
    replacement: "if (false) {",
    tests: [groupsTest, transactionTest],
  },
  {
    name: "a job without a live lease rolls back the transaction",
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
    name: "the neighbours of a cancelled job are returned",
    file: attempt,
    text: 'kind: job === error.job ? "cancelled" : "back"',
    replacement: 'kind: "cancelled"',
    tests: [groupsTest],
  },
  {
    name: "ctx.sql accepts no statement once the handler has returned",
    file: transaction,
    text: '    this.#over = { why: "The handler has ended" };\n',
    replacement: "",
    tests: [transactionTest],
  },
  {
    name: "a stop before the beginning prevents the commit",
    file: transaction,
    text: "      if (this.#undone !== undefined) throw this.#undone;\n",
    replacement: "",
    tests: [transactionTest],
  },
  {
    name: "a handler has no second transaction",
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
    name: "the number of rechecks is limited",
    file: outcomes,
    text: "if (checks >= maxChecks)",
    replacement: "if (checks > maxChecks)",
    tests: [transactionTest],
  },
  {
    name: "a recheck is in the future",
    file: outcomes,
    text: "if (at <= now)\n    return {\n      ...failed(`It asked",
    replacement: "if (at < now)\n    return {\n      ...failed(`It asked",
    tests: [transactionTest],
  },
  {
    name: "a retry with a time in the past runs at once",
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
    name: "a group's ids are those that it was given",
    file: definition,
    text: "const ids = jobs.map(({ id }) => id);\n        return groupResults(name, ids, await runGroup(definition, [...jobs], context));",
    replacement:
      "const given = [...jobs];\n        const results = await runGroup(definition, given, context);\n        return groupResults(name, given.map(({ id }) => id), results);",
    tests: [oddTest, handlersTest],
  },
  {
    name: "a message that SQS does not mention counts as not delivered",
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
    name: "a bus that refuses its request fails no other bus",
    file: events,
    text: "await eachRequest(byBus.flatMap(requests), async (batch) => {",
    replacement: "void byBus;\n    await eachRequest(requests(entries), async (batch) => {",
    tests: [eventTest],
  },
  {
    name: "an event without an id counts as not delivered",
    file: events,
    text: "if (answer?.EventId !== undefined) return done;",
    replacement: "if (answer?.ErrorCode === undefined) return done;",
    tests: ["test/target/sent-requests.test.ts"],
  },
  {
    name: "an entry without a result has failed",
    file: "lib/target/gather-requests.ts",
    text: 'if (own === undefined) call.reject(new Error("There is no outcome for an entry of a request."));',
    replacement: 'if (own === undefined) note(call, place, { kind: "done" });',
    tests: ["test/target/sent-requests.test.ts"],
  },
  {
    name: "a job of a mixed parcel without an answer of its target has failed",
    file: "lib/target/deliver.ts",
    text: "return own.map((job, index) => [job, outcomes[index] ?? noAnswer()]);",
    replacement: 'return own.map((job, index) => [job, outcomes[index] ?? { kind: "done" }]);',
    tests: [handlersTest, "test/target/deliver.test.ts"],
  },
  {
    name: "an event that the bus refused is sent again",
    file: "lib/lifecycle/tell-bus.ts",
    text: "told: answers.flatMap(({ event, answer }) => (answer?.EventId === undefined ? [] : [event.id])),",
    replacement: "told: answers.map(({ event }) => event.id),",
    tests: ["test/lifecycle/told-again.test.ts"],
  },
  {
    name: "events of a failed request to the bus are sent again",
    file: "lib/lifecycle/tell-bus.ts",
    text: "return { told: [], faults: [errorText(error)] };",
    replacement: "return { told: batch.map(({ event }) => event.id), faults: [errorText(error)] };",
    tests: ["test/lifecycle/told-again.test.ts"],
  },
  {
    name: "an event is dropped after a day of failures",
    file: "lib/lifecycle/tell-bus.ts",
    text: "now.getTime() - at.getTime() > keptMs",
    replacement: "now.getTime() - at.getTime() > 10 * keptMs",
    tests: ["test/lifecycle/told-again.test.ts"],
  },
  {
    name: "an event that the bus refused is kept for a day",
    file: "lib/lifecycle/tell-bus.ts",
    text: "now.getTime() - at.getTime() > keptMs",
    replacement: "now.getTime() - at.getTime() > 0",
    tests: ["test/lifecycle/told-again.test.ts"],
  },
  {
    name: "claim_events: the events of a dead worker can be claimed again",
    file: "lib/lifecycle/sql/claim_events.sql",
    text: "update carillon.outbox o set tries = least(o.tries + 1, 100), offer_at = v_now + interval '1 minute' * power(2, least(o.tries, 3))",
    replacement: "update carillon.outbox o set tries = least(o.tries + 1, 100), offer_at = 'infinity'",
    tests: ["test/lifecycle/told-again.test.ts"],
  },
  {
    name: "the gates of a group's rechecks are locked in order",
    file: attempt,
    text: "ended.toSorted(\n      (a, b) => shardOf(a.job.scheduleId) - shardOf(b.job.scheduleId),\n    )",
    replacement: "ended",
    tests: ["test/target/gate-order.test.ts"],
  },
  {
    name: "the gates for edits and a recheck are locked together",
    file: attempt,
    text: "schedules: passing };",
    replacement: "schedules: [] };\n    void passing;",
    tests: ["test/target/gate-order.test.ts"],
  },
  {
    name: "a stop before the beginning prevents the sending",
    file: transaction,
    text: "      if (this.#undone !== undefined) return statement.reject(this.#undone);\n",
    replacement: "",
    tests: ["test/target/stopped-transaction.test.ts"],
  },
  {
    name: "only jobs of one handler run together in a group",
    file: "lib/target/handler/handler-target.ts",
    text: "`${job.target.handler} ${job.team",
    replacement: "`${job.team",
    tests: ["test/target/two-grouped-handlers.test.ts"],
  },
  {
    name: "only jobs of one team run together in a group",
    file: "lib/target/handler/handler-target.ts",
    text: '${job.team ?? ""} ${job.group}',
    replacement: "${job.group}",
    tests: ["test/target/handler-target.test.ts"],
  },
  {
    name: "only jobs of one team that have passed the group's lane run together",
    file: "lib/target/handler/handler-target.ts",
    text: "job.group !== null && isOfGroup(job) ?",
    replacement: "job.group !== null ?",
    tests: ["test/target/handler-target.test.ts"],
  },
  {
    name: "a grouped handler gets a copy of the list",
    file: definition,
    text: "runGroup(definition, [...jobs], context)",
    replacement: "runGroup(definition, jobs, context)",
    tests: [oddTest, handlersTest],
    equivalent: "The list is made for this run only, and is not read after the ids were taken from it.",
  },
  {
    name: "a worker that cannot reach the bus still works its jobs",
    file: "lib/lifecycle/parcel-events.ts",
    text: '      deps.log.warn("lifecycle.left", { error: errorText(error) });\n',
    replacement: "      throw error;\n",
    tests: ["test/lifecycle/untold-work.test.ts"],
  },
];
