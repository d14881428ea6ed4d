import { afterEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { defineJob, type GroupResults, type JobHandler } from "../../lib/job/define-job.ts";
import type { HandlerJob } from "../../lib/job/handler-context.ts";
import { again, done, giveUp, retryAt } from "../../lib/job/handler-results.ts";
import { at, hour, minute, second } from "../support/instants.ts";
import type { HandlerWorld } from "./handler-world.ts";
import { bothJobs, isOdd, ranOddBesideOther, succeeded, triedAgain } from "./odd-beside-other.ts";

let world: HandlerWorld;
afterEach(() => world.stop());

const payload = z.unknown();
async function oddBesideOther(handler: JobHandler) {
  world = await ranOddBesideOther(handler);
  return bothJobs(world);
}

describe("a handler that changes the dates of its job", () => {
  const moved = ({ dueAt, occurrence }: HandlerJob<unknown>): Date => {
    occurrence.setTime(Number.NaN);
    dueAt.setTime(dueAt.getTime() + hour);
    return dueAt;
  };

  test("a handler that changes its dates and throws has its job retried, and the other job succeeds", async () => {
    const name = "fails";
    const { odd, other } = await oddBesideOther(
      defineJob({
        name,
        payload,
        run: async (job) => {
          if (!isOdd(job)) return;
          moved(job);
          throw new Error("boom");
        },
      }),
    );
    expect(odd).toMatchObject({ ...triedAgain, error: "Error: boom" });
    expect(other).toMatchObject(succeeded);
  });

  test("a handler that changes its dates and asks for a recheck gets it at the requested time", async () => {
    const { odd } = await oddBesideOther(
      defineJob({
        name: "rechecks",
        payload,
        maxChecks: 1,
        run: async (job) => (isOdd(job) && job.checks === 0 ? again(moved(job)) : done),
      }),
    );
    expect(odd).toMatchObject(succeeded);
    expect(await world.jobs("odd")).toMatchObject([
      { state: "succeeded", dueAt: at(10 * second) },
      { state: "waiting", dueAt: at(10 * second + hour) },
    ]);
  });

  test("a handler that changes its dates keeps its writes", async () => {
    const { odd, other } = await oddBesideOther(
      defineJob({
        name: "writes",
        payload,
        run: async (job, { sql }) => {
          await sql`insert into written values (${job.key})`;
          if (isOdd(job)) moved(job);
        },
      }),
    );
    expect([odd, other]).toMatchObject([succeeded, succeeded]);
    expect(await world.written()).toEqual(["odd", "other"]);
  });
});

test.each([
  ["without a name", Object.assign(new Error("boom"), { name: undefined }), "Error: boom"],
  ["with a number for a name", Object.assign(new Error("boom"), { name: 404 }), "Error: boom"],
  ["with a stack that is none", Object.assign(new Error("boom"), { stack: null }), "Error: boom"],
  ["without a text", Object.create(null), "a value without text (object)"],
  ["that is a symbol", Symbol("boom"), "Symbol(boom)"],
])("an error %s is reported, whether a schema or a handler throws it", async (_, error: unknown, told) => {
  const fails = (value: unknown) => {
    if (value === "odd") throw error;
    return value;
  };
  const name = "throws";
  const { odd, other } = await oddBesideOther(
    defineJob({ name, payload, run: async ({ key }) => void fails(key) }),
  );
  expect(odd).toMatchObject({ ...triedAgain, error: told });
  expect(other).toMatchObject(succeeded);
  // The same from a schema, which runs before any handler.
  const schema = z.unknown().transform(() => fails("odd"));
  world.handlers.splice(0, 1, defineJob({ name, payload: schema, run: async () => {} }));
  await world.clock.advance(3 * minute);
  expect(await world.run()).toBe(0);
  expect((await world.jobs("odd"))[0]).toMatchObject({ attempt: 2, error: told });
});

test("a handler that gives up for a cause without text gives up all the same", async () => {
  const { odd, other } = await oddBesideOther(
    defineJob({
      name: "gives-up",
      payload,
      run: async (job) => {
        if (isOdd(job)) throw giveUp("closed", { cause: Object.create(null) });
      },
    }),
  );
  expect(odd).toMatchObject({ state: "dead", reason: "gave-up", error: "GaveUp: closed" });
  expect(other).toMatchObject(succeeded);
});

test("a retry at a time before the year 1 is due at once, and the other job runs once", async () => {
  const { odd, other } = await oddBesideOther(
    defineJob({
      name: "early",
      payload,
      run: async (job) => {
        if (isOdd(job)) throw retryAt(new Date(-1e14));
      },
    }),
  );
  expect(odd).toMatchObject({ state: "dead", attempt: 5, reason: "attempts" });
  expect(other).toMatchObject(succeeded);
});

test("a thrown value that is not an error is kept in the ledger, and not logged", async () => {
  const { odd } = await oddBesideOther(
    defineJob({
      name: "throws",
      payload,
      run: async (job) => {
        if (isOdd(job)) throw "401 for Bearer of-somebody";
      },
    }),
  );
  expect(odd).toMatchObject({ error: "401 for Bearer of-somebody" });
  const lines = world.log.lines.filter(({ event }) => event === "job.failed");
  expect(lines).toMatchObject([{ fields: { key: "odd", error: "string" } }]);
});

describe("a grouped handler", () => {
  const grouped = (run: (jobs: HandlerJob<unknown>[]) => GroupResults) =>
    defineJob({ name: "together", payload, grouped: true, run: async (jobs) => run([...jobs]) });

  test.each([
    ["a reason that is not an error", "timeout"],
    ["an object that looks like `done`", { kind: "done" }],
    ["a promise", Promise.resolve()],
    ["null", null],
  ])("a grouped handler that returns %s for a job fails that job alone", async (_, result: unknown) => {
    const { odd, other } = await oddBesideOther(
      grouped((jobs) => {
        const results: unknown = jobs.map((job) => [job.id, isOdd(job) ? result : done]);
        return results as GroupResults;
      }),
    );
    expect(odd).toMatchObject(triedAgain);
    expect(odd?.error).toMatch(/^TypeError: .*unknown result/);
    expect(other).toMatchObject(succeeded);
  });

  test("a grouped handler may change its list of jobs", async () => {
    const { odd, other } = await oddBesideOther(
      defineJob({
        name: "together",
        payload,
        grouped: true,
        run: async (jobs) => {
          const own = jobs as HandlerJob<unknown>[];
          const results = own.map((job) => [job.id, isOdd(job) ? new Error("boom") : done] as const);
          own.reverse().pop();
          return results;
        },
      }),
    );
    expect(odd).toMatchObject(triedAgain);
    expect(other).toMatchObject(succeeded);
  });
});
