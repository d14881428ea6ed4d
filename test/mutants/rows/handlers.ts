import type { Mutant } from "../mutant.ts";

const attempts = "lib/target/attempts.ts";
const attempt = "lib/target/handler-attempt.ts";
const transaction = "lib/target/handler-transaction.ts";
const outcomes = "lib/target/handler-outcomes.ts";
const handlers = "lib/target/handler-target.ts";
const definition = "lib/job/define-job.ts";
const attemptsTest = "test/target/attempts.test.ts";
const transactionTest = "test/target/handler-transaction.test.ts";
const handlersTest = "test/target/handler-target.test.ts";
const oddTest = "test/target/odd-handlers.test.ts";
const schedulesTest = "test/target/handler-schedules.test.ts";

/** Attempts of handlers: when they stop, what becomes of what they wrote, and what they may ask for. */
export const handlerRows: readonly Mutant[] = [
  {
    name: "an attempt does not start once its job was told to stop",
    file: attempts,
    text: "if (cannotStart || stops.some(({ reason }) => reason !== undefined))",
    replacement: "if (cannotStart)",
    tests: [attemptsTest],
  },
  {
    name: "an attempt does not start without time to settle it",
    file: attempts,
    text: "const roomMs = context.timeLeftMs() - settleMs;",
    replacement: "const roomMs = context.timeLeftMs();",
    tests: [attemptsTest],
  },
  {
    name: "an attempt that cannot have its timeout needs time that is worth it",
    file: attempts,
    text: "const cannotStart = roomMs <= 0 || (roomMs < timeoutMs && roomMs < worthStartingMs);",
    replacement: "const cannotStart = roomMs <= 0;",
    tests: [attemptsTest],
  },
  {
    name: "an attempt ends with the worker's time",
    file: attempts,
    text: "clock.alarm(Math.min(timeoutMs, roomMs), () =>",
    replacement: "clock.alarm(timeoutMs, () =>",
    tests: [attemptsTest],
  },
  {
    name: "an attempt that has run out of time is told to stop",
    file: attempts,
    text: "      own.come(reason);\n",
    replacement: "",
    tests: [attemptsTest, handlersTest],
  },
  {
    name: "an attempt is told of a stop that comes while it runs",
    file: attempts,
    text: "    for (const stop of stops) stop.tell(stopFor);\n",
    replacement: "",
    tests: [attemptsTest],
  },
  {
    name: "jobs that did not come to start go back",
    file: attempts,
    text: 'jobs.map(() => ({ kind: "back" }));',
    replacement: 'jobs.map(() => ({ kind: "done" }));',
    tests: [attemptsTest],
  },
  {
    name: "a stop keeps its first reason",
    file: "lib/target/stop.ts",
    text: "    if (this.#reason !== undefined) return;\n    this.#reason = reason;",
    replacement: "    this.#reason = reason;",
    tests: ["test/target/stop.test.ts"],
  },
  {
    name: "a handler's edits end with it, where it returns",
    file: attempt,
    text: "    noted.close();\n    if (stop.reason",
    replacement: "    if (stop.reason",
    tests: ["test/target/handler-transaction.test.ts"],
  },
  {
    name: "a handler's edits end with it, where it throws",
    file: attempt,
    text: "    noted.close();\n    await transaction.rollBack();",
    replacement: "    await transaction.rollBack();",
    tests: ["test/target/thrown-attempts.test.ts"],
  },
  {
    name: "a handler that sent nothing has its transaction closed",
    file: attempt,
    text: "      transaction.close();\n",
    replacement: "",
    tests: [transactionTest],
  },
  {
    name: "what a handler wrote is undone before its failure is told",
    file: attempt,
    text: "    noted.close();\n    await transaction.rollBack();\n    const failure",
    replacement: "    noted.close();\n    const failure",
    tests: ["test/target/thrown-attempts.test.ts"],
  },
  {
    name: "a recheck's day is there before its transaction",
    file: attempt,
    text: "    if (again.length > 0) await attachDaysFor(deps.sql, again);\n",
    replacement: "",
    tests: [transactionTest],
  },
  {
    name: "what a handler makes due is sent at once",
    file: attempt,
    text: "    await handOver(deps.sql, deps.queue, await commitTogether(deps, transaction, together));",
    replacement: "    void handOver;\n    await commitTogether(deps, transaction, together);",
    tests: [schedulesTest],
  },
  {
    name: "a handler's dates are its own",
    file: attempt,
    text: "dueAt: new Date(dueAt),",
    replacement: "dueAt,",
    tests: [oddTest, handlersTest],
  },
  {
    name: "a handler's occurrence is its own",
    file: attempt,
    text: "occurrence: new Date(occurrence),",
    replacement: "occurrence,",
    tests: [oddTest, handlersTest],
  },
  {
    name: "a stop ends the transaction",
    file: transaction,
    text: "      this.#stop.tell((reason) => void this.#undo(stopped(reason)));\n",
    replacement: "",
    tests: [transactionTest],
  },
  {
    name: "a stop that came before anything was sent",
    file: transaction,
    text: "    if (this.#over === undefined && this.#stop.reason !== undefined) this.#over = stopped(this.#stop.reason);\n",
    replacement: "",
    tests: ["test/target/stopped-transaction.test.ts"],
  },
  {
    name: "a commit after the stop is refused",
    file: transaction,
    text: "    if (refused !== undefined) throw errorOf(refused);\n",
    replacement: "",
    tests: ["test/target/stopped-transaction.test.ts"],
  },
  {
    name: "a rollback is proven before the failure is told",
    file: transaction,
    text: "    await this.#opened.ended.catch(() => {});\n",
    replacement: "",
    tests: ["test/target/thrown-attempts.test.ts"],
  },
  {
    name: "a handler cannot commit by itself",
    file: transaction,
    text: "  apply(pool: Sql, _self: unknown, details: unknown[]): unknown {\n    refuseControl(details[0]);",
    replacement: "  apply(pool: Sql, _self: unknown, details: unknown[]): unknown {",
    tests: ["test/target/handler-pool.test.ts"],
  },
  {
    name: "a handler cannot commit by unsafe",
    file: transaction,
    text: "    return (...details: unknown[]) => {\n      refuseControl(details[0]);",
    replacement: "    return (...details: unknown[]) => {",
    tests: [transactionTest],
  },
  {
    name: "a recheck is not further ahead than its handler allows",
    file: outcomes,
    text: "if (at.getTime() > now.getTime() + maxAheadMs)\n",
    replacement: "if (at.getTime() > now.getTime() + maxAheadMs + 60_000)\n",
    tests: ["test/target/outcome-bounds.test.ts"],
  },
  {
    name: "an attempt again may be as far ahead as the handler allows",
    file: outcomes,
    text: "if (at.getTime() <= now.getTime() + maxAheadMs) return { ...failure, retryAt: at };",
    replacement: "if (at.getTime() < now.getTime() + maxAheadMs) return { ...failure, retryAt: at };",
    tests: ["test/target/outcome-bounds.test.ts"],
  },
  {
    name: "a handler puts no schedule for a handler that is not deployed",
    file: handlers,
    text: 'if ("handler" in body.target && !byName.has(body.target.handler))',
    replacement: "if (false)",
    tests: [schedulesTest],
  },
  {
    name: "a handler puts no payload that its handler would not take",
    file: handlers,
    text: "    refuseUnfitPayload(deps.handlers, body);\n",
    replacement: "",
    tests: [schedulesTest],
  },
  {
    name: "a schema that throws fails one job",
    file: handlers,
    text: "  } catch (error) {\n    return thrown(error);\n  }",
    replacement: "  } catch (error) {\n    throw error;\n  }",
    tests: [handlersTest],
  },
  {
    name: "a group has the longest of its timeouts",
    file: handlers,
    text: "timeoutMsOf(b.timeout) > timeoutMsOf(a.timeout) ? b : a",
    replacement: "timeoutMsOf(b.timeout) > timeoutMsOf(a.timeout) ? a : b",
    tests: [handlersTest],
  },
  {
    name: "a job of a group that was not asked to stop goes back",
    file: handlers,
    text: 'return isAnothers ? { kind: "back" } : ended;',
    replacement: "void isAnothers;\n  return ended;",
    tests: [handlersTest],
  },
  {
    name: "a handler is told only of its jobs",
    file: definition,
    text: "    if (!ids.includes(id))\n",
    replacement: "    if (false)\n",
    tests: [handlersTest],
  },
  {
    name: "a job that a group's results do not name has failed",
    file: definition,
    text: "    if (result === undefined) return new Error(`The handler ${name} gave results, and none for this job.`);\n",
    replacement: "    if (result === undefined) return done;\n",
    tests: [handlersTest],
  },
  {
    name: "a result of another kind is not done",
    file: definition,
    text: "return new TypeError(`The handler ${name} returned something else than nothing, done or again(…).`);",
    replacement: "return done;",
    tests: [handlersTest],
  },
  {
    name: "ctx.schedule takes a bounded number of edits",
    file: "lib/target/handler-schedules.ts",
    text: "if (this.#edits.length === editsMax)",
    replacement: "if (this.#edits.length > editsMax)",
    tests: ["test/target/outcome-bounds.test.ts"],
  },
  {
    name: "ctx.schedule takes no edit once the attempt has ended",
    file: "lib/target/handler-schedules.ts",
    text: 'if (this.#isClosed) throw new Error("The attempt has ended: ctx.schedule takes no more edits.");',
    replacement: "",
    tests: ["test/target/thrown-attempts.test.ts"],
  },
];
