import { describe, expect, test } from "vitest";
import { AttemptStopped, Stop } from "../../lib/target/stop.ts";

const cancelled = new AttemptStopped("cancelled", "The job was cancelled.");
const lost = new AttemptStopped("lease-lost", "Gone.");

describe("the signal of a stop", () => {
  test("a signal that is read before the stop aborts with it, for its reason", () => {
    const stop = new Stop();
    const { signal } = stop;
    expect(signal.aborted).toBe(false);
    stop.come(cancelled);
    expect(signal.aborted).toBe(true);
    expect(signal.reason).toEqual(cancelled);
    expect(stop.signal).toBe(signal);
  });

  test("a signal that is read after the stop is already aborted", () => {
    const stop = new Stop();
    stop.come(cancelled);
    expect(stop.signal.aborted).toBe(true);
    expect(stop.signal.reason).toEqual(cancelled);
  });

  test("a signal has its own copy of the reason: changing it does not change the stop", () => {
    for (const isAsked of ["before", "after"]) {
      const stop = new Stop();
      if (isAsked === "before") expect(stop.signal.aborted).toBe(false);
      stop.come(new AttemptStopped("timeout", "It took too long."));
      Object.assign(stop.signal.reason, { why: "cancelled", message: "no" });
      expect(stop.reason).toMatchObject({ why: "timeout", message: "It took too long." });
    }
  });

  test("a signal aborts after every other listener was called", () => {
    const stop = new Stop();
    const order: string[] = [];
    stop.signal.addEventListener("abort", () => order.push("signal"));
    stop.tell(() => order.push("told"));
    stop.come(cancelled);
    expect(order).toEqual(["told", "signal"]);
  });
});

describe("a stop", () => {
  test("a stop comes once, and its first reason counts", () => {
    const stop = new Stop();
    const told: AttemptStopped[] = [];
    stop.tell((reason) => told.push(reason));
    expect(stop.reason).toBeUndefined();
    stop.come(cancelled);
    stop.come(lost);
    expect(told).toEqual([cancelled]);
    expect(stop.reason).toBe(cancelled);
    expect(stop.signal.reason).toEqual(cancelled);
  });

  test("a stop does not call a listener that was removed, also during the stop", () => {
    const stop = new Stop();
    const told: string[] = [];
    const second = () => told.push("second");
    const first = () => {
      told.push("first");
      stop.tellNoMore(second);
    };
    stop.tell(first);
    stop.tell(second);
    const never = () => told.push("never");
    stop.tell(never);
    stop.tellNoMore(never);
    stop.come(cancelled);
    expect(told).toEqual(["first"]);
  });
});
