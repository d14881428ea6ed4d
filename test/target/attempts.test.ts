import { describe, expect, test } from "vitest";
import { eachAttempt } from "../../lib/target/attempts.ts";
import { type Delivery, done } from "../../lib/target/delivery.ts";
import { Places } from "../../lib/target/places.ts";
import { AttemptStopped, Stop } from "../../lib/target/stop.ts";
import { claimedJob } from "../support/claimed-job.ts";
import { deliveryContext } from "../support/delivery-context.ts";
import { at, monday } from "../support/instants.ts";
import { manualClock } from "../support/manual-clock.ts";

const jobs = (count: number, timeout = "30s") =>
  Array.from({ length: count }, (_, n) => claimedJob({ handler: "h" }, { n, occurrence: at(n), timeout }));

/** Attempts that the test ends. */
function stage() {
  const clock = manualClock(monday);
  const started: { n: number; signal: AbortSignal; end: (delivery: Delivery) => void }[] = [];
  const run = (count: number, context = deliveryContext(), timeout = "30s") =>
    eachAttempt(jobs(count, timeout), context, clock, ({ n }, { signal }) => {
      const { promise, resolve } = Promise.withResolvers<Delivery>();
      started.push({ n, signal, end: resolve });
      return promise;
    });
  const end = async (n: number, delivery: Delivery = done) => {
    started.find((each) => each.n === n)?.end(delivery);
    await clock.advance(0);
  };
  return { clock, started, run, end };
}

describe("attempts of a parcel", () => {
  test("attempts run side by side, at most as many as there are places, in order", async () => {
    const { clock, started, run, end } = stage();
    const running = run(4, deliveryContext({ places: new Places(2) }));
    await clock.advance(0);
    expect(started.map(({ n }) => n)).toEqual([0, 1]);
    await end(1);
    expect(started.map(({ n }) => n)).toEqual([0, 1, 2]);
    await end(0);
    await end(2);
    await end(3);
    expect(await running).toEqual([done, done, done, done]);
  });

  test("an attempt that takes longer than its timeout has failed, and is no longer waited for", async () => {
    const { clock, started, run, end } = stage();
    const running = run(2, deliveryContext(), "5s");
    await clock.advance(4_999);
    await end(1);
    expect(started[0]?.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(started[0]?.signal.reason).toMatchObject({ why: "timeout" });
    expect(started[1]?.signal.aborted).toBe(false);
    expect(await running).toMatchObject([
      { kind: "failed", error: "AttemptStopped: The attempt took longer than 5s.", giveUp: false },
      done,
    ]);
  });

  test("an attempt is handed back if the invocation ends before it starts, and stopped if the invocation ends before it is done", async () => {
    const { clock, started, run } = stage();
    const endsAt = Date.parse(monday) + 20_000;
    const timeLeftMs = () => endsAt - clock.now().getTime();
    const running = run(3, deliveryContext({ places: new Places(1), timeLeftMs }), "10s");
    await clock.advance(10_000);
    expect(started.map(({ n }) => n)).toEqual([0]);
    await clock.advance(10_000);
    expect(await running).toMatchObject([{ kind: "failed" }, { kind: "back" }, { kind: "back" }]);

    const long = stage();
    const cut = long.run(1, deliveryContext({ timeLeftMs: () => 40_000 }), "10m");
    await long.clock.advance(37_000);
    expect(await cut).toMatchObject([
      { kind: "failed", error: "AttemptStopped: The worker ran out of time." },
    ]);
  });

  test("an attempt does not start if less time is left than its timeout, and less than half a minute", async () => {
    // Otherwise an attempt is counted, and stopped for lack of time, that another worker would have
    // had time for.
    const { clock, started, run } = stage();
    const running = run(1, deliveryContext({ timeLeftMs: () => 20_000 }), "30s");
    await clock.advance(0);
    expect(started).toEqual([]);
    expect(await running).toEqual([{ kind: "back" }]);
  });

  test("an attempt stops when its job is cancelled, and others go on", async () => {
    const { clock, run, end } = stage();
    const stop = new Stop();
    const other = new Stop();
    const stopOf = ({ n }: { n: number }) => (n === 0 ? stop : other);
    const running = run(2, deliveryContext({ stopOf }));
    await clock.advance(1_000);
    stop.come(new AttemptStopped("cancelled", "The job was cancelled."));
    await end(1);
    expect(await running).toEqual([{ kind: "cancelled" }, done]);
  });

  test("no attempt starts once the lease is lost, and a started one has failed", async () => {
    const { clock, started, run } = stage();
    const stop = new Stop();
    const running = run(2, deliveryContext({ places: new Places(1), stopOf: () => stop }));
    await clock.advance(1_000);
    stop.come(new AttemptStopped("lease-lost", "Gone."));
    expect(await running).toMatchObject([{ kind: "failed" }, { kind: "back" }]);
    expect(started).toHaveLength(1);
  });

  test("an attempt that is over is not stopped", async () => {
    const { started, run, end } = stage();
    const stop = new Stop();
    const running = run(1, deliveryContext({ stopOf: () => stop }));
    await end(0);
    expect(await running).toEqual([done]);
    stop.come(new AttemptStopped("cancelled", "The job was cancelled."));
    expect(started[0]?.signal.aborted).toBe(false);
  });

  test("an attempt that throws has failed, with class, message and stack, bounded and fit to be stored", async () => {
    const clock = manualClock(monday);
    const error = new RangeError(`bad\u0000 ${"x".repeat(5_000)}\ud800`);
    const [failure] = await eachAttempt(jobs(1), deliveryContext(), clock, () => Promise.reject(error));
    expect(failure).toMatchObject({ kind: "failed", errorClass: "RangeError", giveUp: false });
    if (failure?.kind !== "failed") throw new Error("The attempt did not fail.");
    expect(failure.error).toHaveLength(2_000);
    expect(failure.error).not.toContain("\u0000");
    expect(failure.stack?.length).toBeLessThanOrEqual(8_000);
    expect(failure.stack?.isWellFormed()).toBe(true);
  });
});
