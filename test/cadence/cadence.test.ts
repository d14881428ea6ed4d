import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Cadence, countWithin, nextAfter, previousBefore } from "../../lib/cadence/cadence.ts";

describe("a cadence that comes once", () => {
  const once: Cadence = { kind: "once", at: 1_000 };

  test("is next until its instant and previous from then on", () => {
    expect([nextAfter(once, 999), nextAfter(once, 1_000)]).toEqual([1_000, null]);
    expect([previousBefore(once, 1_000), previousBefore(once, 1_001)]).toEqual([null, 1_000]);
  });

  test("counts in the range that ends with it, not in the one that begins with it", () => {
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
  ])("after %i comes %i", (after, next) => {
    expect(nextAfter(interval, after)).toBe(next);
  });

  test.each([
    [1_000, null],
    [1_001, 1_000],
    [1_250, 1_000],
    [1_251, 1_250],
    [-5_000, null],
  ])("before %i came %s", (before, previous) => {
    expect(previousBefore(interval, before)).toBe(previous);
  });

  test("counts like stepping through it, and knows of more than the maximum without stepping", () => {
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
  test("stops counting at the maximum", () => {
    const cron: Cadence = { kind: "cron", expression: "* * * * *", timezone: "UTC" };
    expect(countWithin(cron, 0, 10_000 * 60_000)).toEqual({ count: 10_000, more: false });
    expect(countWithin(cron, 0, 10_001 * 60_000)).toEqual({ count: 10_000, more: true });
  });
});
