import { Cron } from "croner";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Cadence, countWithin, nextAfter, previousBefore } from "../../lib/cadence/cadence.ts";
import { parseWhen } from "../../lib/cadence/parse-when.ts";
import { arbitraryCron, arbitraryInstant } from "./arbitrary-cron.ts";
import { scanUtc } from "./minute-scan.ts";

const MINUTE = 60_000;

function cron(expression: string): Cadence {
  const parsed = parseWhen(expression, { timezone: "UTC", now: Date.UTC(2025, 0, 1), key: "a" });
  if (!parsed.ok) throw new Error(`${expression}: ${parsed.message}`);
  return parsed.cadence;
}

function following(cadence: Cadence, from: number, count: number): (number | null)[] {
  const found: (number | null)[] = [];
  let at: number | null = from;
  while (found.length < count && at !== null) {
    at = nextAfter(cadence, at);
    found.push(at);
  }
  return found;
}

describe("a cron expression in UTC", () => {
  test("L1, L5: the next occurrence lies after the instant asked, on a whole minute", () => {
    fc.assert(
      fc.property(arbitraryCron(), arbitraryInstant(), (expression, after) => {
        const next = nextAfter(cron(expression), after);
        expect(next).not.toBeNull();
        expect(next).toBeGreaterThan(after);
        expect((next ?? 0) % MINUTE).toBe(0);
      }),
      { numRuns: 2_000 },
    );
  });

  test("L2: asked later, but before it, the next occurrence is the same", () => {
    fc.assert(
      fc.property(
        arbitraryCron(),
        arbitraryInstant(),
        fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
        (expression, after, share) => {
          const cadence = cron(expression);
          const next = nextAfter(cadence, after) ?? 0;
          const later = Math.min(next - 1, after + Math.floor((next - after) * share));
          expect(nextAfter(cadence, later)).toBe(next);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  test("L7: a scan of every minute finds the same occurrences", () => {
    fc.assert(
      fc.property(arbitraryCron(), arbitraryInstant(), (expression, from) => {
        const cadence = cron(expression);
        const upTo = from + 3 * 1_440 * MINUTE;
        const scanned = scanUtc(expression, from, upTo);
        expect(following(cadence, from, scanned.length)).toEqual(scanned);
        const after = nextAfter(cadence, scanned.at(-1) ?? from) ?? Number.POSITIVE_INFINITY;
        expect(after).toBeGreaterThan(upTo);
      }),
      { numRuns: 300 },
    );
  });

  test("the previous occurrence undoes the next", () => {
    fc.assert(
      fc.property(arbitraryCron(), arbitraryInstant(), (expression, after) => {
        const cadence = cron(expression);
        const next = nextAfter(cadence, after) ?? 0;
        const previous = previousBefore(cadence, next);
        expect(previous).toBeLessThanOrEqual(after);
        expect(nextAfter(cadence, previous ?? 0)).toBe(next);
        expect(previousBefore(cadence, next + 1)).toBe(next);
      }),
      { numRuns: 2_000 },
    );
  });

  test("the count of a range is the number of steps through it", () => {
    fc.assert(
      fc.property(
        arbitraryCron(),
        arbitraryInstant(),
        fc.integer({ min: 1, max: 60 }),
        (expression, after, steps) => {
          const cadence = cron(expression);
          const upTo = following(cadence, after, steps).at(-1) ?? 0;
          expect(countWithin(cadence, after, upTo)).toEqual({ count: steps, more: false });
          expect(countWithin(cadence, after, upTo - 1)).toEqual({ count: steps - 1, more: false });
          expect(countWithin(cadence, after, upTo, steps - 1)).toEqual({ count: steps - 1, more: true });
        },
      ),
      { numRuns: 300 },
    );
  });

  test("croner finds the same occurrences", () => {
    fc.assert(
      fc.property(arbitraryCron(), arbitraryInstant(), (expression, after) => {
        const other = new Cron(expression, {
          timezone: "UTC",
          fixedTimeRule: "no-wildcard",
          sloppyRanges: true,
        });
        const theirs = other.nextRuns(5, new Date(after)).map((date) => date.getTime());
        expect(following(cron(expression), after, 5)).toEqual(theirs);
      }),
      { numRuns: 1_000 },
    );
  });

  test("L4: the sparsest expression is found within a step budget, also over 2100", () => {
    const leapDay = cron("0 0 29 2 *");
    expect(nextAfter(leapDay, Date.UTC(2096, 2, 1))).toBe(Date.UTC(2104, 1, 29));
    expect(previousBefore(leapDay, Date.UTC(2104, 1, 29))).toBe(Date.UTC(2096, 1, 29));
  });

  test("beyond the range of dates there is no occurrence rather than an error", () => {
    for (const instant of [8.64e15, -8.64e15, Number.POSITIVE_INFINITY, Number.NaN]) {
      expect(nextAfter(cron("* * * * *"), instant)).toBeNull();
      expect(previousBefore(cron("* * * * *"), instant)).toBeNull();
    }
  });
});
