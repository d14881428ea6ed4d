import { Cron } from "croner";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { nextAfter, previousBefore } from "../../lib/cadence/cadence.ts";
import { parseWhen } from "../../lib/cadence/when/parse-when.ts";
import { cron } from "./arbitrary-cadence.ts";
import { arbitraryCron, arbitrarySecondCron } from "./arbitrary-cron.ts";
import { arbitraryNearAnyChange, arbitraryNearChange, arbitraryNightly } from "./clock-changes.ts";
import { scanZone } from "./minute-scan.ts";

const HOUR = 3_600_000;

describe("a cron expression in a zone", () => {
  test("around a clock change a cron has the occurrences that a check of every minute finds", () => {
    fc.assert(
      fc.property(
        fc.oneof(arbitraryNightly(), arbitraryCron()),
        fc.oneof(arbitraryNearChange(), arbitraryNearAnyChange()),
        (expression, { timezone, at }) => {
          const cadence = cron(expression, timezone);
          const upTo = at + 36 * HOUR;
          const scanned = scanZone(expression, timezone, { from: at, upTo });
          const forward: number[] = [];
          for (
            let next = nextAfter(cadence, at);
            next !== null && next <= upTo;
            next = nextAfter(cadence, next)
          ) {
            forward.push(next);
          }
          expect(forward).toEqual(scanned);
          const back: number[] = [];
          let previous = previousBefore(cadence, upTo + 1);
          while (previous !== null && previous > at) {
            back.push(previous);
            previous = previousBefore(cadence, previous);
          }
          expect(back.reverse()).toEqual(scanned);
        },
      ),
      { numRuns: 200 },
    );
  });

  test("around a clock change a cron's next occurrence is later, on a whole minute, and the same from every instant before it", () => {
    fc.assert(
      fc.property(
        fc.oneof(arbitraryNightly(), arbitraryCron()),
        arbitraryNearChange(),
        fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
        (expression, { timezone, at }, share) => {
          const cadence = cron(expression, timezone);
          const next = nextAfter(cadence, at) ?? 0;
          expect(next).toBeGreaterThan(at);
          expect(next % 60_000).toBe(0);
          const later = Math.min(next - 1, at + Math.floor((next - at) * share));
          expect(nextAfter(cadence, later)).toBe(next);
          expect(previousBefore(cadence, next)).toBeLessThanOrEqual(at);
        },
      ),
      { numRuns: 3_000 },
    );
  });

  test("around a clock change a cron has the occurrences that the package croner finds, in every zone", () => {
    fc.assert(
      fc.property(
        fc.oneof(arbitraryNightly(), arbitraryCron(), arbitrarySecondCron()),
        fc.oneof(arbitraryNearChange(), arbitraryNearAnyChange()),
        (expression, { timezone, at }) => {
          const theirs = new Cron(expression, { timezone, fixedTimeRule: "no-wildcard", sloppyRanges: true });
          let mine: number | null = at;
          const cadence = cron(expression, timezone);
          for (const date of theirs.nextRuns(4, new Date(at))) {
            mine = nextAfter(cadence, mine ?? 0);
            expect(mine).toBe(date.getTime());
          }
        },
      ),
      { numRuns: 1_000 },
    );
  });

  test("the occurrence of the sparsest cron is found across all clock changes before it", () => {
    const leapDay = cron("30 2 29 2 *", "America/New_York");
    expect(nextAfter(leapDay, Date.UTC(2096, 2, 1))).toBe(Date.UTC(2104, 1, 29, 7, 30));
    expect(previousBefore(leapDay, Date.UTC(2104, 1, 29, 7, 30))).toBe(Date.UTC(2096, 1, 29, 7, 30));
    const fifthSundayOfFebruary = cron("0 12 ? 2 0#5", "Africa/Casablanca");
    const next = nextAfter(fifthSundayOfFebruary, Date.UTC(2088, 2, 1)) ?? 0;
    expect(new Date(next).toISOString().slice(0, 10)).toBe("2128-02-29");
    expect(new Date(previousBefore(fifthSundayOfFebruary, next) ?? 0).getUTCFullYear()).toBe(2088);
  });
});

describe("a wall time in a zone", () => {
  const now = Date.UTC(2011, 0, 1);

  test.each([
    ["2011-06-01T09:00", "Europe/Berlin", "2011-06-01T07:00:00Z"],
    ["2026-03-29T02:30", "Europe/Berlin", "2026-03-29T01:00:00Z"],
    ["2026-03-29T02:00", "Europe/Berlin", "2026-03-29T01:00:00Z"],
    ["2026-03-29T03:00", "Europe/Berlin", "2026-03-29T01:00:00Z"],
    ["2026-10-25T02:30", "Europe/Berlin", "2026-10-25T00:30:00Z"],
    ["2026-10-25T03:00", "Europe/Berlin", "2026-10-25T02:00:00Z"],
    ["2025-10-05T02:15", "Australia/Lord_Howe", "2025-10-04T15:30:00Z"],
    ["2026-01-01T00:00", "Pacific/Kiritimati", "2025-12-31T10:00:00Z"],
    ["2026-03-29T02:30+01:00", "Europe/Berlin", "2026-03-29T01:30:00Z"],
  ])("the wall time %s in %s is %s", (wall, timezone, instant) => {
    expect(parseWhen(`at ${wall}`, { timezone, now, key: "a" })).toMatchObject({
      cadence: { kind: "once", at: Date.parse(instant) },
    });
  });

  test("a wall time on a day that its zone left out is refused", () => {
    const parsed = parseWhen("at 2011-12-30T12:00", { timezone: "Pacific/Apia", now, key: "a" });
    expect(parsed).toMatchObject({ ok: false, kind: "invalid", position: 3 });
  });
});
