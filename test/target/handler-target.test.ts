import { describe, expect, test } from "vitest";
import { z } from "zod";
import { handlers } from "../../functions/handlers.ts";
import { defineJob, type HandlerJob, type JobHandler } from "../../lib/job/define-job.ts";
import { deliverTo } from "../../lib/target/deliver.ts";
import { done, failed } from "../../lib/target/delivery.ts";
import { handlerTarget } from "../../lib/target/handler-target.ts";
import { claimedJob } from "../support/claimed-job.ts";
import { at, monday } from "../support/instants.ts";
import { manualClock } from "../support/manual-clock.ts";
import { recordedLog } from "../support/recorded-log.ts";

const clock = manualClock(monday);
const deliverWith = (...known: JobHandler[]) => handlerTarget({ handlers: known, clock, log: recordedLog() });
const job = (handler: string, parts: Parameters<typeof claimedJob>[1] = {}) => claimedJob({ handler }, parts);

describe("a handler", () => {
  test("is told the facts of its job, with the payload as its schema reads it", async () => {
    const seen: HandlerJob<{ n: number; more: string }>[] = [];
    const counts = defineJob({
      name: "counts",
      payload: z.object({ n: z.number(), more: z.string().default("-") }),
      run: async (facts) => void seen.push(facts),
    });
    expect(await deliverWith(counts)([job("counts", { attempt: 2, group: "g" })])).toEqual([done]);
    expect(seen).toEqual([
      {
        id: `7-${at(0).getTime()}-c0`,
        key: "order:1",
        scheduleId: "7",
        group: "g",
        occurrence: at(0),
        dueAt: at(0),
        attempt: 3,
        payload: { n: 1, more: "-" },
      },
    ]);
  });

  test("does not see a payload that does not fit, and trying again cannot help", async () => {
    const strict = defineJob({
      name: "strict",
      payload: z.strictObject({ id: z.string() }),
      run: () => Promise.reject(new Error("must not run")),
    });
    const [delivery] = await deliverWith(strict)([job("strict", { payload: { id: 7, x: 1 } })]);
    expect(delivery).toMatchObject({ kind: "failed", giveUp: true, error: expect.stringContaining("id:") });
  });

  test("that throws has failed, and is tried again", async () => {
    const throws = defineJob({
      name: "throws",
      payload: z.unknown(),
      run: () => Promise.reject(new TypeError("boom")),
    });
    const none = defineJob({ name: "none", payload: z.unknown(), run: () => Promise.reject(undefined) });
    expect(await deliverWith(throws, none)([job("throws"), job("none")])).toEqual([
      { kind: "failed", giveUp: false, error: "TypeError: boom" },
      { kind: "failed", giveUp: false, error: "undefined" },
    ]);
  });

  test("that this deployment does not know has failed, and may be known to the next one", async () => {
    expect(await deliverWith()([job("unknown")])).toMatchObject([
      { kind: "failed", giveUp: false, error: expect.stringContaining("unknown") },
    ]);
  });

  test("is aborted and no longer waited for when its time is up, and its neighbours are not", async () => {
    let aborted = false;
    const slow = defineJob({
      name: "slow",
      payload: z.unknown(),
      run: (_, { signal }) =>
        new Promise(() => {
          signal.addEventListener("abort", () => {
            aborted = true;
          });
        }),
    });
    const quick = defineJob({ name: "quick", payload: z.unknown(), run: () => clock.sleep(1_000) });
    const deliveries = deliverWith(
      slow,
      quick,
    )([job("slow", { timeout: "2s" }), job("quick", { timeout: "2s" })]);
    await clock.advance(1_999);
    expect(aborted).toBe(false);
    await clock.advance(1);
    expect(aborted).toBe(true);
    expect(await deliveries).toEqual([
      { kind: "failed", giveUp: false, error: "The attempt took longer than 2s." },
      done,
    ]);
  });

  test("that ends in time leaves no timer behind and is not aborted later", async () => {
    let signal: AbortSignal | undefined;
    const quick = defineJob({
      name: "quick",
      payload: z.unknown(),
      run: async (_, context) => {
        signal = context.signal;
      },
    });
    await deliverWith(quick)([job("quick")]);
    await clock.advance(60_000);
    expect(signal?.aborted).toBe(false);
  });
});

describe("the handlers of this deployment", () => {
  test("greet", async () => {
    const log = recordedLog();
    const deliver = handlerTarget({ handlers, clock, log });
    expect(
      await deliver([job("greet", { payload: null }), job("greet", { payload: { name: "Ada" } })]),
    ).toEqual([done, done]);
    expect(log.lines.map(({ fields }) => fields["name"])).toEqual(["world", "Ada"]);
    expect(await deliver([job("greet", { payload: { name: "" } })])).toMatchObject([{ giveUp: true }]);
  });

  test("tell of an order that nobody has shipped", async () => {
    const log = recordedLog();
    const deliver = handlerTarget({ handlers, clock, log });
    expect(await deliver([job("order-unshipped", { payload: { orderId: 12, since: "x" } })])).toEqual([done]);
    expect(log.lines).toMatchObject([
      { level: "warn", event: "handler.order-unshipped", fields: { order: "12" } },
    ]);
  });
});

describe("a parcel with jobs for several kinds of target", () => {
  test("has each delivered by its own, and the outcomes in the order of the jobs", async () => {
    const answering = (kind: string) => async (jobs: readonly { n: number }[]) =>
      jobs.map(({ n }) => (n % 2 === 0 ? done : failed(`${kind} ${n}`)));
    const deliver = deliverTo({
      queue: answering("queue"),
      event: answering("event"),
      handler: answering("handler"),
    });
    const event = { bus: "b", source: "s", detailType: "d" };
    const jobs = [
      claimedJob({ handler: "h" }, { n: 1 }),
      claimedJob({ queue: "q" }, { n: 2 }),
      claimedJob({ event }, { n: 3 }),
      claimedJob({ queue: "q" }, { n: 5 }),
    ];
    expect(await deliver(jobs)).toMatchObject([
      { error: "handler 1" },
      { kind: "done" },
      { error: "event 3" },
      { error: "queue 5" },
    ]);
  });

  test("takes an answer that is missing for a failure", async () => {
    const silent = async () => [];
    const deliver = deliverTo({ queue: silent, event: silent, handler: silent });
    expect(await deliver([claimedJob({ queue: "q" })])).toMatchObject([{ kind: "failed", giveUp: false }]);
  });
});
