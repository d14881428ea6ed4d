import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { nextAfter, previousBefore } from "../../lib/cadence/cadence.ts";
import type { Cadence } from "../../lib/cadence/cadence-kinds.ts";
import { countWithin } from "../../lib/cadence/count-within.ts";

describe("a cadence of one instant", () => {
  const once: Cadence = { kind: "once", at: 1_000 };

  test("a single instant is the next occurrence before it, and the previous one after it", () => {
    expect([nextAfter(once, 999), nextAfter(once, 1_000)]).toEqual([1_000, null]);
    expect([previousBefore(once, 1_000), previousBefore(once, 1_001)]).toEqual([null, 1_000]);
  });

  test("a single instant counts in the range that ends with it, not in the one that begins with it", () => {
    expect(countWithin(once, 0, 1_000)).toEqual({ count: 1, more: false });
    expect(countWithin(once, 1_000, 2_000)).toEqual({ count: 0, more: false });
    expect(countWithin(once, 0, 2_000, 0)).toEqual({ count: 0, more: true });
  });
});

describe("an interval", () => {
  const interval: Cadence = { kind: "interval", everyMs: 250, firstAt: 1_000 };

  test.each([
    [-5_000, 1_000],
    [999, 1_000],
    [1_000, 1_250],
    [1_249, 1_250],
    [1_250, 1_500],
  ])("after %i the interval's next occurrence is %i", (after, next) => {
    expect(nextAfter(interval, after)).toBe(next);
  });

  test.each([
    [1_000, null],
    [1_001, 1_000],
    [1_250, 1_000],
    [1_251, 1_250],
    [-5_000, null],
  ])("before %i the interval's previous occurrence is %s", (before, previous) => {
    expect(previousBefore(interval, before)).toBe(previous);
  });

  test("an interval has the count of steps through it, and more than the maximum is noticed without steps", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 5_000 }), fc.integer({ min: 0, max: 5_000 }), (after, upTo) => {
        let steps = 0;
        let next = nextAfter(interval, after) ?? 0;
        while (next <= upTo) {
          steps += 1;
          next = nextAfter(interval, next) ?? 0;
        }
        expect(countWithin(interval, after, upTo)).toEqual({ count: steps, more: false });
      }),
    );
    expect(countWithin(interval, 0, Number.MAX_SAFE_INTEGER)).toEqual({ count: 10_000, more: true });
    expect(countWithin(interval, 999, 1_000 + 9_999 * 250)).toEqual({ count: 10_000, more: false });
  });
});

describe("a cron cadence", () => {
  test("the count of a cron stops at the maximum", () => {
    const cron: Cadence = { kind: "cron", expression: "* * * * *", timezone: "UTC" };
    expect(countWithin(cron, 0, 10_000 * 60_000)).toEqual({ count: 10_000, more: false });
    expect(countWithin(cron, 0, 10_001 * 60_000)).toEqual({ count: 10_000, more: true });
  });
});

describe("a union", () => {
  const every = (everyMs: number): Cadence => ({ kind: "interval", everyMs, firstAt: 0 });
  const union: Cadence = { kind: "union", of: [every(4), every(6), { kind: "once", at: 7 }] };

  test("an instant that several members of a union share is one occurrence", () => {
    const forward: (number | null)[] = [];
    for (let at = nextAfter(union, -1); at !== null && at <= 12; at = nextAfter(union, at)) forward.push(at);
    expect(forward).toEqual([0, 4, 6, 7, 8, 12]);
    expect([13, 12, 8, 7, 6, 4, 0].map((before) => previousBefore(union, before))).toEqual([
      12,
      8,
      7,
      6,
      4,
      0,
      null,
    ]);
    expect(countWithin(union, 0, 12)).toEqual({ count: 5, more: false });
  });

  test("the count of a union stops at the maximum", () => {
    const same: Cadence = { kind: "union", of: [every(1_000), every(1_000), every(500)] };
    expect(countWithin(same, 0, 5_000_000)).toEqual({ count: 10_000, more: false });
    expect(countWithin(same, 0, 5_000_500)).toEqual({ count: 10_000, more: true });
  });
});

describe("a window", () => {
  const seconds: Cadence = { kind: "interval", everyMs: 1_000, firstAt: 0 };
  const window: Cadence = { kind: "window", of: seconds, startsAt: 2_000, endsAt: 5_000 };

  test("a window includes an occurrence at its start and not one at its end", () => {
    expect([0, 1_999, 2_000, 3_999, 4_000].map((after) => nextAfter(window, after))).toEqual([
      2_000,
      2_000,
      3_000,
      4_000,
      null,
    ]);
    expect([9_000, 5_000, 4_000, 2_001, 2_000].map((before) => previousBefore(window, before))).toEqual([
      4_000,
      4_000,
      3_000,
      2_000,
      null,
    ]);
    expect(countWithin(window, 0, 9_000)).toEqual({ count: 3, more: false });
    expect(countWithin(window, 2_000, 4_000)).toEqual({ count: 2, more: false });
  });

  test("a window may be open at either end", () => {
    expect(previousBefore({ ...window, startsAt: null }, 2_000)).toBe(1_000);
    expect(nextAfter({ ...window, endsAt: null }, 5_000)).toBe(6_000);
  });
});

test("a daily interval by the calendar is counted exactly up to the maximum", () => {
  const daily: Cadence = {
    kind: "calendar-interval",
    every: 1,
    unit: "day",
    anchor: Date.UTC(2020, 0, 1, 2, 30),
    from: 0,
    timezone: "Europe/Berlin",
  };
  const day = 86_400_000;
  const after = Date.UTC(2020, 0, 1);
  expect(countWithin(daily, after, after + 10_000 * day)).toEqual({ count: 10_000, more: false });
  expect(countWithin(daily, after, after + 10_001 * day)).toEqual({ count: 10_000, more: true });
});
