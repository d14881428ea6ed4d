import { afterEach, describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { defineJob, type GroupResults, type JobHandler } from "../../lib/job/define-job.ts";
import type { HandlerJob } from "../../lib/job/handler-context.ts";
import { again, done, retryAt } from "../../lib/job/handler-results.ts";
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

/** Results of another copy of the module, which an app has if it bundles its own. */
async function otherCopy() {
  vi.resetModules();
  const copy = await import("../../lib/job/handler-results.ts");
  expect(copy.done).not.toBe(done);
  return copy;
}

const single = (run: (job: HandlerJob<unknown>) => unknown) =>
  defineJob({
    name: "single",
    payload,
    maxChecks: 1,
    run: async (job) => (isOdd(job) ? (run(job) as undefined) : undefined),
  });

const grouped = (resultOf: (job: HandlerJob<unknown>) => unknown) =>
  defineJob({
    name: "together",
    payload,
    grouped: true,
    run: async (jobs) => jobs.map((job) => [job.id, isOdd(job) ? resultOf(job) : done]) as GroupResults,
  });

/** A value of which not even the class can be read. */
const unreadable = new Proxy(
  {},
  {
    get: () => {
      throw new Error("unreadable");
    },
    getPrototypeOf: () => {
      throw new Error("unreadable");
    },
  },
);

describe("a handler's date", () => {
  test.each([
    ["again", again],
    ["retryAt", retryAt],
  ])("a date that became invalid in %s fails its job alone", async (_, made) => {
    const { odd, other } = await oddBesideOther(
      grouped(() => {
        const asked = made(at(2 * hour));
        if ("at" in asked.wanted) asked.wanted.at.setTime(Number.NaN);
        return asked;
      }),
    );
    expect(odd).toMatchObject(triedAgain);
    expect(other).toMatchObject(succeeded);
  });
});

describe("a result of another copy of the module", () => {
  test("a returned result of another copy of the module has the same meaning", async () => {
    const copy = await otherCopy();
    const { odd, other } = await oddBesideOther(
      single(({ checks }) => (checks === 0 ? copy.again("1h") : copy.done)),
    );
    expect([odd, other]).toMatchObject([succeeded, succeeded]);
    expect(await world.jobs("odd")).toMatchObject([{}, { state: "waiting", dueAt: at(hour + 10 * second) }]);
    await world.clock.advance(hour);
    await world.runDue();
    expect(await world.jobs("odd")).toMatchObject([{}, { state: "succeeded" }]);
  });

  test("a thrown result of another copy of the module has the same meaning", async () => {
    const copy = await otherCopy();
    const { odd } = await oddBesideOther(
      single(({ attempt }) => {
        throw attempt === 1 ? copy.retryAfter("7m") : copy.giveUp("closed");
      }),
    );
    expect(odd).toMatchObject({ ...triedAgain, readyAt: at(10 * second + 7 * minute) });
    await world.clock.advance(7 * minute);
    await world.run();
    expect(await world.jobs("odd")).toMatchObject([
      { state: "dead", reason: "gave-up", error: "GaveUp: closed" },
    ]);
  });

  test("a result of another copy of the module is understood from a definition of that copy", async () => {
    vi.resetModules();
    const copy = await import("../../lib/job/main.ts");
    const { odd, other } = await oddBesideOther(
      copy.defineJob({
        name: "copied",
        payload,
        run: async (job) => (isOdd(job) ? copy.again("1h") : copy.done),
      }),
    );
    expect([odd, other]).toMatchObject([succeeded, succeeded]);
    expect(await world.jobs("odd")).toHaveLength(2);
  });
});

test.each([
  ["false", false],
  ["an object", { ok: true }],
  ["an object that looks like `again`", { kind: "again", wanted: { afterMs: 1_000 } }],
  ["a text", "done"],
])("a handler that returns %s fails its job alone", async (_, result: unknown) => {
  const { odd, other } = await oddBesideOther(single(() => result));
  expect(odd).toMatchObject({
    ...triedAgain,
    error:
      "TypeError: The handler single returned an unknown value; it may return nothing, done or again(…).",
  });
  expect(other).toMatchObject(succeeded);
});

describe("a grouped handler", () => {
  test.each([
    ["a promise that rejects", () => Promise.reject(new Error("boom"))],
    ["an unreadable value", () => unreadable],
    [
      "an error that cannot be read",
      () =>
        Object.defineProperty(new Error("boom"), "message", {
          get: () => {
            throw new Error("unreadable");
          },
        }),
    ],
  ])("a grouped handler that returns %s for a job fails that job alone", async (_, result) => {
    const { odd, other } = await oddBesideOther(grouped(result));
    expect(odd).toMatchObject(triedAgain);
    expect(other).toMatchObject(succeeded);
  });

  test("a grouped handler that returns two results for a job fails that job alone", async () => {
    const { odd, other } = await oddBesideOther(
      defineJob({
        name: "together",
        payload,
        grouped: true,
        run: async (jobs) =>
          jobs.flatMap(({ id, key }): [string, Error | typeof done][] =>
            key === "odd"
              ? [
                  [id, new Error("boom")],
                  [id, done],
                ]
              : [[id, done]],
          ),
      }),
    );
    expect(odd).toMatchObject({ ...triedAgain, error: expect.stringContaining("two results for this job") });
    expect(other).toMatchObject(succeeded);
  });

  test("a grouped handler with endless results fails all of its jobs, after two results for each job are read", async () => {
    let read = 0;
    const { odd, other } = await oddBesideOther(
      defineJob({
        name: "together",
        payload,
        grouped: true,
        run: async (jobs) =>
          (function* (): Generator<[string, typeof done]> {
            // More than are ever read, so that this test ends if it fails.
            for (; read < 1_000; read++) yield [jobs[0]?.id ?? "", done];
          })(),
      }),
    );
    const error = "TypeError: The handler together gave more than 4 results for 2 jobs.";
    expect([odd, other]).toMatchObject([
      { ...triedAgain, error },
      { ...triedAgain, error },
    ]);
    expect(read).toBeLessThan(6);
  });

  test.each([
    ["false", false],
    ["done", done],
    ["a text", "done"],
    ["a list of ids", ["1", "2"]],
  ])(
    "a grouped handler that returns %s fails all of its jobs, and the error names the valid results",
    async (_, returned) => {
      const { odd, other } = await oddBesideOther(
        defineJob({
          name: "together",
          payload,
          grouped: true,
          run: async () => returned as unknown as undefined,
        }),
      );
      const error = expect.stringMatching(
        /^TypeError: .*returned an unknown value; it may return nothing, or a pair/,
      );
      expect([odd, other]).toMatchObject([
        { ...triedAgain, error },
        { ...triedAgain, error },
      ]);
    },
  );
});

test.each([
  [
    "rejects",
    () => Promise.reject(new Error("boom")),
    "TypeError: The payload cannot be read: its schema returned a promise, and has to be synchronous.",
  ],
  [
    "throws an unreadable value",
    () => {
      throw unreadable;
    },
    "It threw an error that cannot be read.",
  ],
])("a job whose schema %s fails alone", async (_, fails, error) => {
  const schema = z.string().transform((key): unknown => (key === "odd" ? fails() : key));
  const { odd, other } = await oddBesideOther(
    defineJob({ name: "plain", payload: schema, run: async () => {} }),
  );
  expect(odd).toMatchObject({ ...triedAgain, error });
  expect(other).toMatchObject(succeeded);
});
