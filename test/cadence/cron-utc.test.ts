import { Cron } from "croner";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { nextAfter, previousBefore } from "../../lib/cadence/cadence.ts";
import type { Cadence } from "../../lib/cadence/cadence-kinds.ts";
import { countWithin } from "../../lib/cadence/count-within.ts";
import { parseWhen } from "../../lib/cadence/when/parse-when.ts";
import {
  arbitraryBothCron,
  arbitraryCron,
  arbitraryInstant,
  arbitrarySecondCron,
  arbitrarySpecialCron,
} from "./arbitrary-cron.ts";
import { scanUtc } from "./minute-scan.ts";

const MINUTE = 60_000;

function cron(expression: string): Cadence {
  const parsed = parseWhen(expression, { timezone: "UTC", now: Date.UTC(2025, 0, 1), key: "a" });
  if (!parsed.ok) throw new Error(`${expression}: ${parsed.message}`);
  return parsed.cadence;
}

function arbitraryAnyCron(): fc.Arbitrary<string> {
  return fc.oneof(arbitraryCron(), arbitrarySpecialCron(), arbitrarySecondCron());
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
  test("a cron's next occurrence is after the given instant, on a whole minute", () => {
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

  test("a cron's next occurrence is the same from every instant before it", () => {
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

  test("a cron has the occurrences that a check of every minute finds", () => {
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

  test("a cron has the last days, nearest weekdays and nth weekdays that a check of every minute of three months finds", () => {
    fc.assert(
      fc.property(arbitrarySpecialCron(), arbitraryInstant(), (expression, from) => {
        const cadence = cron(expression);
        const scanned = scanUtc(expression, from, from + 92 * 1_440 * MINUTE);
        expect(following(cadence, from, scanned.length)).toEqual(scanned);
        let previous: number | null = (scanned.at(-1) ?? from) + 1;
        for (const at of scanned.toReversed()) {
          previous = previousBefore(cadence, previous ?? 0);
          expect(previous).toBe(at);
        }
      }),
      { numRuns: 30 },
    );
  });

  test("a cron with an & has the days that match both day fields, as a check of every minute finds them", () => {
    fc.assert(
      fc.property(arbitraryBothCron(), arbitraryInstant(), (expression, from) => {
        const parsed = parseWhen(expression, { timezone: "UTC", now: 0, key: "a" });
        if (!parsed.ok) {
          // Only days of which the months have none are refused.
          expect(scanUtc(expression, from, from + 92 * 1_440 * MINUTE)).toEqual([]);
          return;
        }
        const scanned = scanUtc(expression, from, from + 92 * 1_440 * MINUTE);
        expect(following(parsed.cadence, from, scanned.length)).toEqual(scanned);
        let previous: number | null = (scanned.at(-1) ?? from) + 1;
        for (const at of scanned.toReversed()) {
          previous = previousBefore(parsed.cadence, previous ?? 0);
          expect(previous).toBe(at);
        }
      }),
      { numRuns: 30 },
    );
  });

  test("a cron with six fields has the occurrences that a check of every second finds", () => {
    fc.assert(
      fc.property(arbitrarySecondCron(), arbitraryInstant(), (expression, after) => {
        const cadence = cron(expression);
        const from = (nextAfter(cadence, after) ?? 0) - 1;
        const scanned = scanUtc(expression, from, from + 90 * MINUTE);
        expect(following(cadence, from, scanned.length)).toEqual(scanned);
        const [last = from] = scanned.slice(-1);
        expect(nextAfter(cadence, last)).toBeGreaterThan(from + 90 * MINUTE);
        expect(previousBefore(cadence, last)).toBe(scanned.at(-2) ?? previousBefore(cadence, from + 1));
      }),
      { numRuns: 60 },
    );
  });

  test("a cron's previous occurrence is the inverse of the next", () => {
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

  test("a cron's count in a range is the number of steps through it", () => {
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

  test("a cron in UTC has the occurrences that the package croner finds", () => {
    fc.assert(
      fc.property(arbitraryAnyCron(), arbitraryInstant(), (expression, after) => {
        // croner has no days before the last, and the last workday only as a single item.
        fc.pre(!/L-|LW,|,LW/.test(expression));
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

  test("a cron with an & has the occurrences that the package croner finds", () => {
    fc.assert(
      fc.property(arbitraryBothCron(), arbitraryInstant(), (expression, after) => {
        // With special days, an expression may never fire, and is refused here.
        fc.pre(!/[LW#]/.test(expression));
        // croner writes the mark as a + before the day of the week.
        const words = expression.replace("&", "").split(" ");
        const marked = [...words.slice(0, 4), `+${words[4]}`].join(" ");
        const other = new Cron(marked, {
          timezone: "UTC",
          fixedTimeRule: "no-wildcard",
          sloppyRanges: true,
        });
        const theirs = other.nextRuns(5, new Date(after)).map((date) => date.getTime());
        expect(following(cron(expression), after, 5)).toEqual(theirs);
      }),
      { numRuns: 300 },
    );
  });

  test.each([
    ["0 0 31W * *", "2026-05-02", "2026-05-29", "the 31st is a Sunday, and Monday is in June"],
    ["0 0 31W * *", "2026-05-30", "2026-07-31", "June has no 31st"],
    ["0 0 1W * *", "2026-07-31", "2026-08-03", "the 1st is a Saturday, and Friday is in July"],
    ["0 0 LW * *", "2026-02-01", "2026-02-27", "the 28th is a Saturday"],
    ["0 0 L-28 2 *", "2026-01-01", "2028-02-01", "only a leap February has a 28th day before its last"],
    ["0 0 * * 1#5", "2026-01-01", "2026-03-30", "January and February have no fifth Monday"],
    ["0 0 29 2 ?", "2026-01-01", "2028-02-29", "? restricts nothing"],
    ["0 0 29 2 1&", "2026-01-01", "2044-02-29", "a Monday on a leap day comes every 28 years"],
    ["0 0 1-7& * mon", "2026-01-05", "2026-02-02", "the first Monday of each month"],
    ["0 0 1-31 * 1&", "2026-01-05", "2026-01-12", "a field that takes every day restricts nothing"],
  ])("the next occurrence of %s after %s is on %s: %s", (expression, after, next) => {
    expect(nextAfter(cron(expression), Date.parse(after))).toBe(Date.parse(next));
  });

  test("the occurrence of the sparsest cron is found within the step limit, also over the year 2100, which is no leap year", () => {
    const leapDay = cron("0 0 29 2 *");
    expect(nextAfter(leapDay, Date.UTC(2096, 2, 1))).toBe(Date.UTC(2104, 1, 29));
    expect(previousBefore(leapDay, Date.UTC(2104, 1, 29))).toBe(Date.UTC(2096, 1, 29));
    const fifthSundayOfFebruary = cron("0 0 ? 2 0#5");
    expect(nextAfter(fifthSundayOfFebruary, Date.UTC(2088, 2, 1))).toBe(Date.UTC(2128, 1, 29));
    expect(previousBefore(fifthSundayOfFebruary, Date.UTC(2128, 1, 29))).toBe(Date.UTC(2088, 1, 29));
  });

  test("a search beyond the range of dates finds no occurrence, and throws no error", () => {
    for (const instant of [8.64e15, -8.64e15, Number.POSITIVE_INFINITY, Number.NaN]) {
      expect(nextAfter(cron("* * * * *"), instant)).toBeNull();
      expect(previousBefore(cron("* * * * *"), instant)).toBeNull();
    }
  });
});
