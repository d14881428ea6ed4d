import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { nextAfter, previousBefore } from "../../lib/cadence/cadence.ts";
import type { Cadence } from "../../lib/cadence/cadence-kinds.ts";
import type { ClockRule } from "../../lib/cadence/zone/clock-rule.ts";
import {
  makeZone,
  offsetChanges,
  withZones,
  type Zone,
  zoneNamed,
  zoneOf,
} from "../../lib/cadence/zone/zone-spans.ts";
import { nextInZone, previousInZone } from "../../lib/cadence/zone/zoned-search.ts";
import { arbitraryInstant } from "./arbitrary-cron.ts";
import { zones } from "./clock-changes.ts";
import { wallClock } from "./minute-scan.ts";

const HOUR = 3_600_000;
const FROM = Date.UTC(2010, 0, 1);
const TO = Date.UTC(2040, 0, 1);

describe("the offset of a zone", () => {
  test("the offset of a zone agrees with the fields of Intl, in every zone at any time", () => {
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

describe("the changes of a zone", () => {
  test("the changes of a zone begin with the current offset, and list every later one with its instant", () => {
    expect(offsetChanges("Europe/Berlin", Date.UTC(2026, 0, 1), Date.UTC(2027, 0, 1))).toEqual([
      { from: Date.UTC(2026, 0, 1), offset: HOUR },
      { from: Date.parse("2026-03-29T01:00:00Z"), offset: 2 * HOUR },
      { from: Date.parse("2026-10-25T01:00:00Z"), offset: HOUR },
    ]);
    expect(offsetChanges("UTC", FROM, TO)).toEqual([{ from: FROM, offset: 0 }]);
    expect(offsetChanges("Asia/Tokyo", FROM, TO)).toEqual([{ from: FROM, offset: 9 * HOUR }]);
  });

  test("a zone made of another zone's changes has the same occurrences", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.constantFrom("30 2 * * *", "0 0 * * 0", "*/20 1-3 * * *", "15 12 L * *"),
        arbitraryInstant(),
        (timezone, expression, at) => {
          const cadence: Cadence = { kind: "cron", expression, timezone };
          const copy = zoneOf(offsetChanges(timezone, FROM - 400 * 24 * HOUR, TO + 400 * 24 * HOUR));
          const [next, previous] = withZones(
            (name) => (name === timezone ? copy : null),
            () => [nextAfter(cadence, at), previousBefore(cadence, at)],
          );
          expect(next).toBe(nextAfter(cadence, at));
          expect(previous).toBe(previousBefore(cadence, at));
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe("other rules of a zone", () => {
  const nine: Cadence = { kind: "cron", expression: "0 9 * * *", timezone: "Europe/Berlin" };
  const at = Date.parse("2026-07-01T00:00:00Z");
  const noSummer = () => zoneOf([{ from: 0, offset: HOUR }]);

  test("other rules of a zone apply only while the work runs", () => {
    const changed = withZones(noSummer, () => nextAfter(nine, at));
    expect(changed).toBe(Date.parse("2026-07-01T08:00:00Z"));
    expect(nextAfter(nine, at)).toBe(Date.parse("2026-07-01T07:00:00Z"));
  });

  test("other rules of a zone end with work that fails, and then the outer rules apply again", () => {
    const inner = () => {
      throw new Error("failed");
    };
    const changed = withZones(noSummer, () => {
      expect(() => withZones(() => null, inner)).toThrow("failed");
      return nextAfter(nine, at);
    });
    expect(changed).toBe(Date.parse("2026-07-01T08:00:00Z"));
    expect(nextAfter(nine, at)).toBe(Date.parse("2026-07-01T07:00:00Z"));
  });
});

describe("a clock change anywhere in a block of weeks", () => {
  const WEEK = 7 * 24 * HOUR;
  const block = 60 * 52 * WEEK;
  const everyHalfHour = {
    atOrAfter: (wall: number) => Math.ceil(wall / (HOUR / 2)) * (HOUR / 2),
    atOrBefore: (wall: number) => Math.floor(wall / (HOUR / 2)) * (HOUR / 2),
  };
  const hours = [-WEEK / HOUR, -25, -2, -1, -0.5, 0, 0.5, 1, 2, 25, WEEK / HOUR];

  test.each(hours)("a clock change %d hours from the end of a block repeats an hour once", (distance) => {
    const change = block + distance * HOUR;
    const zone = makeZone((instant) => (instant < change ? HOUR : 0));
    const first = { gap: "next", overlap: "first" } as const;
    const last = { gap: "next", overlap: "last" } as const;
    const from = change - 2 * HOUR;
    expect(all(from, (at) => nextInZone(everyHalfHour, first, zone, at))).toEqual(
      [-1.5, -1, -0.5, 1, 1.5, 2].map((hour) => change + hour * HOUR),
    );
    expect(all(from, (at) => nextInZone(everyHalfHour, last, zone, at))).toEqual(
      [-1.5, 0, 0.5, 1, 1.5, 2].map((hour) => change + hour * HOUR),
    );
    expect(previousInZone(everyHalfHour, first, zone, change + HOUR)).toBe(change - HOUR / 2);
    expect(previousInZone(everyHalfHour, last, zone, change)).toBe(change - 1.5 * HOUR);
  });

  test.each(hours)(
    "a clock change %d hours from the end of a block moves a time in the gap to one instant",
    (distance) => {
      const change = block + distance * HOUR;
      const zone = makeZone((instant) => (instant < change ? 0 : HOUR));
      const wall = change + HOUR / 2;
      const search = {
        atOrAfter: (from: number) => (from <= wall ? wall : null),
        atOrBefore: (from: number) => (from >= wall ? wall : null),
      };
      const rule = { gap: "next", overlap: "first" } as const;
      expect(nextInZone(search, rule, zone, change - 30 * 24 * HOUR)).toBe(change);
      expect(nextInZone(search, rule, zone, change)).toBeNull();
      expect(previousInZone(search, rule, zone, change + 30 * 24 * HOUR)).toBe(change);
      expect(previousInZone(search, rule, zone, change)).toBeNull();
      expect(nextInZone(search, { gap: "skip", overlap: "first" }, zone, change - HOUR)).toBeNull();
    },
  );

  function all(from: number, next: (at: number) => number | null): number[] {
    const found: number[] = [];
    for (let at = next(from); at !== null && found.length < 6; at = next(at)) found.push(at);
    return found;
  }
});

describe("a search in a zone", () => {
  const rules = ["next", "skip"].flatMap((gap) =>
    ["first", "last", "both"].map((overlap) => ({ gap, overlap }) as ClockRule),
  );

  function counted(timezone: string): { zone: Zone; reads: () => number } {
    let reads = 0;
    const zone = zoneNamed(timezone);
    return {
      zone: {
        spanAt(instant) {
          reads += 1;
          return zone.spanAt(instant);
        },
      },
      reads: () => reads,
    };
  }

  test("a search finds a wall time a century away in few steps, and ends in few steps if there is none", () => {
    const wall = Date.UTC(2126, 6, 1, 12);
    const once = {
      atOrAfter: (from: number) => (from <= wall ? wall : null),
      atOrBefore: (from: number) => (from >= wall ? wall : null),
    };
    for (const timezone of zones) {
      for (const rule of rules) {
        const { zone, reads } = counted(timezone);
        const next = nextInZone(once, rule, zone, FROM) ?? 0;
        expect(next + zoneNamed(timezone).spanAt(next).offset).toBe(wall);
        expect(nextInZone(once, rule, zone, next)).toBeNull();
        expect(previousInZone(once, rule, zone, next + 100 * 365 * 24 * HOUR)).toBe(next);
        expect(previousInZone(once, rule, zone, next)).toBeNull();
        expect(reads()).toBeLessThan(40);
      }
    }
  });

  test("a search ends at the limit of dates", () => {
    const never = { atOrAfter: () => null, atOrBefore: () => null };
    const [rule = { gap: "next", overlap: "first" }] = rules;
    for (const at of [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 8.64e15, Number.NaN]) {
      expect(nextInZone(never, rule, zoneNamed("Europe/Berlin"), at)).toBeNull();
      expect(previousInZone(never, rule, zoneNamed("Europe/Berlin"), at)).toBeNull();
    }
  });
});
