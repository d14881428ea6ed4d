import { afterEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { connect } from "../../lib/db/connect.ts";
import { defineJob, type JobHandler } from "../../lib/job/define-job.ts";
import type { HandlerContext } from "../../lib/job/handler-context.ts";
import { done } from "../../lib/target/delivery.ts";
import { handlerTarget } from "../../lib/target/handler/handler-target.ts";
import { AttemptStopped, Stop } from "../../lib/target/stop.ts";
import { memoryQueue } from "../../lib/tools/testing/memory-queue.ts";
import { claimedJob } from "../support/claimed-job.ts";
import { deliveryContext } from "../support/delivery-context.ts";
import { monday } from "../support/instants.ts";
import { manualClock } from "../support/manual-clock.ts";
import { recordedLog } from "../support/recorded-log.ts";

const clock = manualClock(monday);
const log = recordedLog();
/** No server listens there: nothing here needs a database. */
const sql = connect({ DATABASE_URL: "postgres://nobody@127.0.0.1:1/none" });
const queue = memoryQueue(clock, log);

/** Delivers one job of the handler `h`. */
function deliver(handler: JobHandler, stop = new Stop()) {
  const deps = { sql, transactions: sql, queue, notify: [], log, clock };
  const jobs = [claimedJob({ handler: "h" }, { timeout: "2s" })];
  return handlerTarget({ ...deps, handlers: [handler] })(jobs, deliveryContext({ stopOf: () => stop }));
}

const definition = { name: "h", payload: z.unknown() };
type Kind = [string, (act: (context: HandlerContext) => Promise<void>) => JobHandler];
const kinds: Kind[] = [
  ["of one job", (act) => defineJob({ ...definition, run: (_, context) => act(context) })],
  [
    "of one job without a transaction",
    (act) => defineJob({ ...definition, transaction: false, run: (_, context) => act(context) }),
  ],
  ["of a group", (act) => defineJob({ ...definition, grouped: true, run: (_, context) => act(context) })],
];

afterEach(() => {
  vi.unstubAllGlobals();
});

describe.each(kinds)("a handler %s", (_, handlerOf) => {
  test("no signal is made for a handler that does not use it", async () => {
    let members: string[] = [];
    const handler = handlerOf(async (context) => {
      members = Object.keys(context);
    });
    vi.stubGlobal(
      "AbortController",
      class {
        constructor() {
          throw new Error("A signal was made.");
        }
      },
    );
    expect(await deliver(handler)).toEqual([done]);
    expect(members).toContain("signal");
  });

  test("a handler that reads its signal only after the stop finds it aborted", async () => {
    const kept = Promise.withResolvers<HandlerContext>();
    const handler = handlerOf((context) => {
      kept.resolve(context);
      return new Promise(() => {});
    });
    const stop = new Stop();
    const delivered = deliver(handler, stop);
    const context = await kept.promise;
    stop.come(new AttemptStopped("cancelled", "The job was cancelled."));
    expect(await delivered).toEqual([{ kind: "cancelled" }]);
    expect(context.signal.aborted).toBe(true);
    expect(context.signal.reason).toMatchObject({ name: "AttemptStopped", why: "cancelled" });
  });

  test("a handler that reads its signal only after its end finds it unchanged", async () => {
    const kept = Promise.withResolvers<HandlerContext>();
    const stop = new Stop();
    expect(
      await deliver(
        handlerOf(async (context) => kept.resolve(context)),
        stop,
      ),
    ).toEqual([done]);
    stop.come(new AttemptStopped("cancelled", "The job was cancelled."));
    await clock.advance(60_000);
    expect((await kept.promise).signal.aborted).toBe(false);
  });

  test("a handler has one and the same signal, also after it has changed its context", async () => {
    let context: HandlerContext | undefined;
    const handler = handlerOf(async (given) => {
      context = given;
    });
    await deliver(handler);
    if (context === undefined) throw new Error("The handler did not run.");
    const { signal } = context;
    expect(signal).toBeInstanceOf(AbortSignal);
    const derived: HandlerContext = Object.create(context);
    for (const same of [context, { ...context }, derived, new Proxy(context, {})])
      expect(same.signal).toBe(signal);
    const other = new AbortController().signal;
    derived.signal = other;
    expect([context.signal, derived.signal]).toEqual([signal, other]);
    context.signal = other;
    expect({ ...context }.signal).toBe(other);
  });
});
