import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { systemClock } from "../lib/clock.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("an alarm", () => {
  test("an alarm rings once, when its time has come", () => {
    const ring = vi.fn();
    systemClock.alarm(1_000, ring);
    vi.advanceTimersByTime(999);
    expect(ring).not.toHaveBeenCalled();
    vi.advanceTimersByTime(60_000);
    expect(ring).toHaveBeenCalledOnce();
  });

  test("an alarm that is cancelled never rings, and leaves no timer", () => {
    const ring = vi.fn();
    const callOff = systemClock.alarm(1_000, ring);
    callOff();
    expect(vi.getTimerCount()).toBe(0);
    vi.advanceTimersByTime(60_000);
    expect(ring).not.toHaveBeenCalled();
  });
});
