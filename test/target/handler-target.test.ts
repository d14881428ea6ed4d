import { describe, expect, test } from "vitest";
import { z } from "zod";
import { handlers } from "../../functions/handlers.ts";
import { connect } from "../../lib/db/connect.ts";
import { defineJob, type GroupResults, type JobHandler } from "../../lib/job/define-job.ts";
import type { HandlerJob } from "../../lib/job/handler-context.ts";
import { giveUp, done as groupDone } from "../../lib/job/handler-results.ts";
import { jobId } from "../../lib/job/job-id.ts";
import type { Log } from "../../lib/log/log.ts";
import type { ClaimedJob } from "../../lib/parcel/claimed-job.ts";
import { deliverTo } from "../../lib/target/deliver.ts";
import { type DeliveryContext, done, failed } from "../../lib/target/delivery.ts";
import { handlerTarget } from "../../lib/target/handler/handler-target.ts";
import { Places } from "../../lib/target/places.ts";
import { AttemptStopped, Stop } from "../../lib/target/stop.ts";
import { memoryQueue } from "../../lib/tools/testing/memory-queue.ts";
import { claimedJob } from "../support/claimed-job.ts";
import { at, monday } from "../support/instants.ts";
import { manualClock } from "../support/manual-clock.ts";
import { recordedLog } from "../support/recorded-log.ts";

const clock = manualClock(monday);
/** No server listens there: nothing here needs a database. */
const sql = connect({ DATABASE_URL: "postgres://nobody@127.0.0.1:1/none" });

function deliverWith(
  known: readonly JobHandler[],
  context: Partial<DeliveryContext> = {},
  log: Log = recordedLog(),
) {
  const queue = memoryQueue(clock, log);
  const deliver = handlerTarget({
    handlers: known,
    clock,
    log,
    sql,
    transactions: sql,
    queue,
    notify: [],
  });
  const never = new Stop();
  return (...jobs: Parameters<typeof deliver>[0][number][]) =>
    deliver(jobs, {
      parcel: { id: "1", fence: 1 },
      places: new Places(10),
      stopOf: () => never,
      timeLeftMs: () => 600_000,
      ...context,
    });
}

const job = (handler: string, parts: Parameters<typeof claimedJob>[1] = {}) => claimedJob({ handler }, parts);
const any = z.unknown();

describe("a handler", () => {
  test("a handler gets the facts of its job, with the payload as its schema reads it", async () => {
    const seen: HandlerJob<{ n: number; more: string }>[] = [];
    const counts = defineJob({
      name: "counts",
      payload: z.object({ n: z.number(), more: z.string().default("-") }),
      run: async (facts, context) => {
        seen.push(facts);
        expect(context.job).toBe(facts);
      },
    });
    const sent = job("counts", { attempt: 2, group: "g", kind: "again", n: 3, checks: 4, version: 5 });
    expect(await deliverWith([counts])(sent)).toEqual([done]);
    expect(seen).toEqual([
      {
        id: `7-${at(0).getTime()}-a3`,
        kind: "again",
        n: 3,
        key: "order:1",
        scheduleId: "7",
        version: 5,
        group: "g",
        occurrence: at(0),
        dueAt: at(0),
        attempt: 3,
        checks: 4,
        payload: { n: 1, more: "-" },
      },
    ]);
  });

  test("a payload that does not fit is not passed to the handler, and the job is not retried", async () => {
    const strict = defineJob({
      name: "strict",
      payload: z.strictObject({ id: z.string() }),
      run: () => Promise.reject(new Error("must not run")),
    });
    const [delivery] = await deliverWith([strict])(job("strict", { payload: { id: 7, x: 1 } }));
    expect(delivery).toMatchObject({
      kind: "failed",
      giveUp: true,
      reason: "payload",
      error: expect.stringContaining("payload.id: "),
    });
  });

  test("a handler whose schema throws for a payload fails that job alone", async () => {
    const seen: unknown[] = [];
    const converts = defineJob({
      name: "converts",
      payload: z.string().transform((text): unknown => JSON.parse(text)),
      run: async ({ payload }) => {
        seen.push(payload);
      },
    });
    const deliveries = await deliverWith([converts])(
      job("converts", { payload: "[1]", n: 0 }),
      job("converts", { payload: "[", n: 1 }),
      job("converts", { payload: "[2]", n: 2 }),
    );
    expect(deliveries).toMatchObject([
      done,
      { kind: "failed", giveUp: false, errorClass: "SyntaxError" },
      done,
    ]);
    expect(seen).toEqual([[1], [2]]);
  });

  test("a handler that throws has failed, and is retried", async () => {
    const throws = defineJob({
      name: "throws",
      payload: any,
      run: () => Promise.reject(new TypeError("boom")),
    });
    const none = defineJob({ name: "none", payload: any, run: () => Promise.reject(undefined) });
    expect(await deliverWith([throws, none])(job("throws"), job("none"))).toMatchObject([
      { kind: "failed", giveUp: false, error: "TypeError: boom", errorClass: "TypeError" },
      { kind: "failed", giveUp: false, error: "undefined" },
    ]);
  });

  test("a handler that throws synchronously has failed as well", async () => {
    const throws = defineJob({
      name: "throws",
      payload: any,
      run: () => {
        throw new TypeError("at once");
      },
    });
    expect(await deliverWith([throws])(job("throws"))).toMatchObject([{ error: "TypeError: at once" }]);
  });

  test("a handler that gives up has the cause in its stack", async () => {
    const cause = new RangeError("the bank said no");
    const gives = defineJob({
      name: "gives",
      payload: any,
      run: () => Promise.reject(giveUp("No more.", { cause })),
    });
    const [delivery] = await deliverWith([gives])(job("gives"));
    expect(delivery).toMatchObject({
      giveUp: true,
      reason: "gave-up",
      error: "GaveUp: No more.",
      stack: expect.stringContaining("Caused by RangeError: the bank said no"),
    });
  });

  test("a handler that returns a value that is no result has failed", async () => {
    const odd = defineJob({ name: "odd", payload: any, run: async () => JSON.parse('{"kind":"done"}') });
    expect(await deliverWith([odd])(job("odd"))).toMatchObject([
      { kind: "failed", error: expect.stringContaining("returned an unknown value") },
    ]);
  });

  test("a handler that returns no result for its job has failed", async () => {
    const mute: JobHandler = { ...defineJob({ name: "mute", payload: any, run: async () => {} }) };
    mute.run = async () => [];
    expect(await deliverWith([mute])(job("mute"))).toMatchObject([
      { kind: "failed", giveUp: false, error: expect.stringContaining("returned no result for") },
    ]);
  });

  test("a job of an unknown handler has failed, and may succeed in the next deployment", async () => {
    expect(await deliverWith([])(job("unknown"))).toMatchObject([
      { kind: "failed", giveUp: false, error: expect.stringContaining("unknown") },
    ]);
  });

  test("a handler's log lines name its job", async () => {
    const log = recordedLog();
    await deliverWith(handlers, {}, log)(job("greet", { payload: { name: "Ada" } }));
    expect(log.lines).toMatchObject([
      { fields: { job: `7-${at(0).getTime()}-c0`, key: "order:1", name: "Ada" } },
    ]);
  });

  test("a handler whose time is up is aborted and no longer waited for, and the other jobs go on", async () => {
    let reason: unknown;
    const slow = defineJob({
      name: "slow",
      payload: any,
      run: (_, { signal }) =>
        new Promise(() => {
          signal.addEventListener("abort", () => {
            reason = signal.reason;
          });
        }),
    });
    const quick = defineJob({ name: "quick", payload: any, run: () => clock.sleep(1_000) });
    const deliveries = deliverWith([slow, quick])(
      job("slow", { timeout: "2s" }),
      job("quick", { timeout: "2s" }),
    );
    await clock.advance(1_999);
    expect(reason).toBeUndefined();
    await clock.advance(1);
    expect(reason).toMatchObject({ name: "AttemptStopped", why: "timeout" });
    expect(await deliveries).toMatchObject([
      { kind: "failed", giveUp: false, error: "AttemptStopped: The attempt took longer than 2s." },
      done,
    ]);
  });

  test("a handler that ends in time leaves no timer behind and is not aborted later", async () => {
    let signal: AbortSignal | undefined;
    const quick = defineJob({
      name: "quick",
      payload: any,
      run: async (_, context) => {
        signal = context.signal;
      },
    });
    await deliverWith([quick])(job("quick"));
    await clock.advance(60_000);
    expect(signal?.aborted).toBe(false);
  });

  test("handlers of a parcel run side by side, at most as many as there are places", async () => {
    let running = 0;
    let most = 0;
    const counts = defineJob({
      name: "counts",
      payload: any,
      run: async () => {
        most = Math.max(most, ++running);
        await clock.sleep(10);
        running--;
      },
    });
    const deliveries = deliverWith([counts], { places: new Places(2) })(
      ...[0, 1, 2, 3, 4].map((n) => job("counts", { n })),
    );
    for (let round = 0; round < 3; round++) await clock.advance(10);
    expect(await deliveries).toEqual([done, done, done, done, done]);
    expect(most).toBe(2);
  });
});

describe("a grouped handler", () => {
  type Run = (
    jobs: readonly HandlerJob<{ n: number }>[],
    context: { group: string | null },
  ) => Promise<GroupResults | undefined>;
  const together = (run: Run) =>
    defineJob({ name: "together", payload: z.object({ n: z.int() }), grouped: true, run });
  const of = (group: string | null, n: number, parts: Partial<ClaimedJob> = {}) =>
    job("together", { group, n, payload: { n }, ...parts });

  test("a grouped handler gets the jobs of each group together, and a job without a group alone", async () => {
    const runs: [string | null, number[]][] = [];
    const handler = together(async (jobs, { group }) => {
      runs.push([group, jobs.map(({ payload }) => payload.n)]);
      return undefined;
    });
    const jobs = [of("a", 1), of("b", 2), of("a", 3), of(null, 4), of(null, 5)];
    expect(await deliverWith([handler])(...jobs)).toEqual([done, done, done, done, done]);
    expect(runs).toEqual([
      ["a", [1, 3]],
      ["b", [2]],
      [null, [4]],
      [null, [5]],
    ]);
  });

  test("a call of a grouped handler has the jobs of one team: others of the same group and lane get calls of their own", async () => {
    const runs: number[][] = [];
    const handler = together(async (jobs) => {
      runs.push(jobs.map(({ payload }) => payload.n));
      if (jobs.some(({ payload }) => payload.n === 2)) throw new Error("two is odd");
      return undefined;
    });
    const jobs = [of("a", 1, { team: 7 }), of("a", 2, { team: 8 }), of("a", 3), of("a", 4, { team: 7 })];
    expect(await deliverWith([handler])(...jobs)).toMatchObject([
      done,
      { kind: "failed", error: expect.stringContaining("two is odd") },
      done,
      done,
    ]);
    expect(runs).toEqual([[1, 4], [2], [3]]);
  });

  test("a grouped handler is stopped by a cancel of its own team alone: a call of another team goes on", async () => {
    const cancel = new Stop();
    const never = new Stop();
    const ends = Promise.withResolvers<undefined>();
    const [mine, other] = [of("a", 1, { team: 7 }), of("a", 2, { team: 8 })];
    const stopOf = (of: ClaimedJob) => (of.payload === other.payload ? cancel : never);
    const deliveries = deliverWith([together(() => ends.promise)], { stopOf })(mine, other);
    await clock.advance(1);
    cancel.come(new AttemptStopped("cancelled", "The job was cancelled."));
    ends.resolve(undefined);
    expect(await deliveries).toEqual([done, { kind: "cancelled" }]);
  });

  test("a grouped handler gets a job that has passed no lane of its group alone", async () => {
    const sizes: number[] = [];
    const handler = together(async ({ length }) => {
      sizes.push(length);
      return undefined;
    });
    const jobs = [of("a", 1), of("a", 2), of("a", 3, { lane: null }), of("a", 4, { lane: "group/a" })];
    await deliverWith([handler])(...jobs);
    expect(sizes).toEqual([2, 1, 1]);
  });

  test("a grouped handler returns an outcome for each job, and a job without one has failed", async () => {
    const handler = together(async ([one, two]) => [
      [one?.id ?? "", groupDone],
      [two?.id ?? "", giveUp("closed")],
    ]);
    expect(await deliverWith([handler])(of("a", 1), of("a", 2), of("a", 3))).toMatchObject([
      done,
      { kind: "failed", giveUp: true, reason: "gave-up" },
      { kind: "failed", giveUp: false, error: expect.stringContaining("none for this job") },
    ]);
  });

  test("a grouped handler that throws, or names a job that it was not given, has failed with all of them", async () => {
    const throws = together(() => Promise.reject(new Error("boom")));
    const confused = together(async () => [["7-0-c0", groupDone]]);
    for (const [handler, error] of [
      [throws, "boom"],
      [confused, "not one of its jobs"],
    ] as const)
      expect(await deliverWith([handler])(of("a", 1), of("a", 2))).toMatchObject([
        { kind: "failed", error: expect.stringContaining(error) },
        { kind: "failed", error: expect.stringContaining(error) },
      ]);
  });

  test("a grouped handler does not get a job whose payload does not fit, and the other jobs run", async () => {
    const handler = together(async () => undefined);
    expect(await deliverWith([handler])(of("a", 1), of("a", 2, { payload: "?" }))).toMatchObject([
      done,
      { kind: "failed", reason: "payload" },
    ]);
  });

  test("a grouped handler has the longest of its jobs' timeouts", async () => {
    const handler = together(() => new Promise(() => {}));
    const deliveries = deliverWith([handler])(of("a", 1, { timeout: "1s" }), of("a", 2, { timeout: "3s" }));
    let ended = false;
    const watching = deliveries.then(() => {
      ended = true;
    });
    await clock.advance(2_999);
    expect(ended).toBe(false);
    await clock.advance(1);
    await watching;
    const error = "AttemptStopped: The attempt took longer than 3s.";
    expect(await deliveries).toMatchObject([{ error }, { error }]);
  });

  test("a grouped handler is aborted when one of its jobs is cancelled, and the others go back without a counted attempt", async () => {
    const cancel = new Stop();
    const never = new Stop();
    const handler = together(() => new Promise(() => {}));
    const [one, two] = [of("a", 1), of("a", 2)];
    const stopOf = (of: ClaimedJob) => (jobId(of) === jobId(two) ? cancel : never);
    const deliveries = deliverWith([handler], { stopOf })(one, two);
    await clock.advance(1);
    cancel.come(new AttemptStopped("cancelled", "The job was cancelled."));
    expect(await deliveries).toEqual([{ kind: "back" }, { kind: "cancelled" }]);
  });
});

describe("the handlers of this deployment", () => {
  test("the handler greet greets", async () => {
    const log = recordedLog();
    const deliver = deliverWith(handlers, {}, log);
    expect(
      await deliver(job("greet", { payload: null }), job("greet", { payload: { name: "Ada" } })),
    ).toEqual([done, done]);
    expect(log.lines.map(({ fields }) => fields["name"])).toEqual(["world", "Ada"]);
    expect(await deliver(job("greet", { payload: { name: "" } }))).toMatchObject([{ giveUp: true }]);
  });

  test("the reminders of a person become one message", async () => {
    const log = recordedLog();
    const reminder = (n: number) => job("digest", { n, group: "person:7", payload: { text: `thing ${n}` } });
    expect(await deliverWith(handlers, {}, log)(reminder(1), reminder(2))).toEqual([done, done]);
    expect(log.lines).toMatchObject([
      { event: "handler.digested", fields: { group: "person:7", reminders: 2, jobs: 2 } },
    ]);
  });
});

describe("a parcel with jobs for several kinds of target", () => {
  const context: DeliveryContext = {
    parcel: { id: "1", fence: 1 },
    places: new Places(10),
    stopOf: () => new Stop(),
    timeLeftMs: () => 600_000,
  };

  test("each job of a mixed parcel is delivered by its own kind, and the outcomes are in the order of the jobs", async () => {
    const answering = (kind: string) => async (jobs: readonly { n: number }[]) =>
      jobs.map(({ n }) => (n % 2 === 0 ? done : failed(`${kind} ${n}`)));
    const deliver = deliverTo({
      queue: answering("queue"),
      event: answering("event"),
      handler: answering("handler"),
      webhook: answering("webhook"),
      lambda: answering("lambda"),
    });
    const event = { bus: "b", source: "s", detailType: "d" };
    const jobs = [
      claimedJob({ handler: "h" }, { n: 1 }),
      claimedJob({ queue: "q" }, { n: 2 }),
      claimedJob({ event }, { n: 3 }),
      claimedJob({ queue: "q" }, { n: 5 }),
      claimedJob({ lambda: "l", invocation: "async" }, { n: 7 }),
    ];
    expect(await deliver(jobs, context)).toMatchObject([
      { error: "handler 1" },
      { kind: "done" },
      { error: "event 3" },
      { error: "queue 5" },
      { error: "lambda 7" },
    ]);
  });

  test("a missing outcome of a mixed parcel counts as a failure", async () => {
    const silent = async () => [];
    const deliver = deliverTo({
      queue: silent,
      event: silent,
      handler: silent,
      webhook: silent,
      lambda: silent,
    });
    expect(await deliver([claimedJob({ queue: "q" })], context)).toMatchObject([
      { kind: "failed", giveUp: false },
    ]);
  });
});
