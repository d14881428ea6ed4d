import { Cron } from "croner";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Cadence, nextAfter, previousBefore } from "../../lib/cadence/cadence.ts";
import { parseWhen } from "../../lib/cadence/parse-when.ts";
import { zoneNamed } from "../../lib/cadence/zone-spans.ts";
import { arbitraryCron, arbitraryInstant, arbitrarySecondCron } from "./arbitrary-cron.ts";
import { scanZone, wallClock } from "./minute-scan.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** Every kind of clock change: by half an hour, two hours or a whole day, at midnight, at one minute past, in Ramadan. */
const zones = [
  "Africa/Cairo",
  "Africa/Casablanca",
  "America/Caracas",
  "America/Havana",
  "America/New_York",
  "America/Santiago",
  "America/Sao_Paulo",
  "America/St_Johns",
  "Antarctica/Casey",
  "Antarctica/Troll",
  "Asia/Gaza",
  "Asia/Kathmandu",
  "Asia/Pyongyang",
  "Asia/Tehran",
  "Australia/Lord_Howe",
  "Europe/Berlin",
  "Europe/Dublin",
  "Europe/Istanbul",
  "Pacific/Apia",
  "Pacific/Chatham",
];

const changes = zones.flatMap((timezone) => daysOfChange(timezone).map((day) => ({ timezone, day })));

function daysOfChange(timezone: string): number[] {
  const wallAt = wallClock(timezone);
  const days: number[] = [];
  for (let day = Date.UTC(2010, 0, 1); day < Date.UTC(2035, 0, 1); day += DAY) {
    if (wallAt(day + DAY) - wallAt(day) !== DAY) days.push(day);
  }
  return days;
}

/** An instant within a day and a half of a change of the clocks. */
function arbitraryNearChange(): fc.Arbitrary<{ timezone: string; at: number }> {
  return fc
    .tuple(fc.constantFrom(...changes), fc.integer({ min: -36 * 60, max: 36 * 60 }))
    .map(([{ timezone, day }, minutes]) => ({ timezone, at: day + minutes * 60_000 }));
}

/** Expressions that have something to do in the hours when clocks change. */
function arbitraryNightly(): fc.Arbitrary<string> {
  const minute = fc.constantFrom("0", "1", "15", "30", "0,30", "29-31", "*/15", "*", "59", "5/20");
  const hour = fc.constantFrom("0", "1", "2", "3", "23", "0-3", "1,2", "*", "*/2", "2/1", "12", "22-23");
  const days = fc.constantFrom("* * *", "* * 0", "* * 6,0", "1-7,25-31 * *", "1 * 0", "* 3,4,9-11 *");
  return fc.tuple(minute, hour, days).map((fields) => fields.join(" "));
}

function cron(expression: string, timezone: string): Cadence {
  const parsed = parseWhen(expression, { timezone, now: Date.UTC(2025, 0, 1), key: "a" });
  if (!parsed.ok) throw new Error(`${expression}: ${parsed.message}`);
  return parsed.cadence;
}

describe("a cron expression in a zone", () => {
  test("L6, L7: a walk through every minute around a clock change finds the same occurrences", () => {
    fc.assert(
      fc.property(
        fc.oneof(arbitraryNightly(), arbitraryCron()),
        arbitraryNearChange(),
        (expression, { timezone, at }) => {
          const cadence = cron(expression, timezone);
          const upTo = at + 36 * HOUR;
          const scanned = scanZone(expression, timezone, at, upTo);
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

  test("L1, L2, L5: next lies ahead, on a whole minute, and is the same from anywhere before it", () => {
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

  test("croner finds the same occurrences around clock changes", () => {
    fc.assert(
      fc.property(
        fc.oneof(arbitraryNightly(), arbitraryCron(), arbitrarySecondCron()),
        arbitraryNearChange(),
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

  test("the sparsest expression is found across all clock changes between", () => {
    const leapDay = cron("30 2 29 2 *", "America/New_York");
    expect(nextAfter(leapDay, Date.UTC(2096, 2, 1))).toBe(Date.UTC(2104, 1, 29, 7, 30));
    expect(previousBefore(leapDay, Date.UTC(2104, 1, 29, 7, 30))).toBe(Date.UTC(2096, 1, 29, 7, 30));
    const fifthSundayOfFebruary = cron("0 12 ? 2 0#5", "Africa/Casablanca");
    const next = nextAfter(fifthSundayOfFebruary, Date.UTC(2088, 2, 1)) ?? 0;
    expect(new Date(next).toISOString().slice(0, 10)).toBe("2128-02-29");
    expect(new Date(previousBefore(fifthSundayOfFebruary, next) ?? 0).getUTCFullYear()).toBe(2088);
  });
});

describe("the offset of a zone", () => {
  test("is the one that Intl's own fields show, in every zone at any time", () => {
    const clocks = new Map(Intl.supportedValuesOf("timeZone").map((name) => [name, wallClock(name)]));
    fc.assert(
      fc.property(fc.constantFrom(...clocks.keys()), arbitraryInstant(), (timezone, at) => {
        const instant = at - (at % 1_000);
        const { start, end, offset } = zoneNamed(timezone).spanAt(instant);
        expect(instant >= start && instant < end).toBe(true);
        expect(instant + offset).toBe(clocks.get(timezone)?.(instant));
      }),
      { numRuns: 5_000 },
    );
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
  ])("%s in %s is %s", (wall, timezone, instant) => {
    expect(parseWhen(`at ${wall}`, { timezone, now, key: "a" })).toMatchObject({
      cadence: { kind: "once", at: Date.parse(instant) },
    });
  });

  test("on a day that the zone left out is refused", () => {
    const parsed = parseWhen("at 2011-12-30T12:00", { timezone: "Pacific/Apia", now, key: "a" });
    expect(parsed).toMatchObject({ ok: false, kind: "invalid", position: 3 });
  });
});
