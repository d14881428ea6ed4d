import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  isRun,
  nextAfter,
  nextRunAfter,
  previousBefore,
  previousRunBefore,
} from "../../lib/cadence/cadence.ts";
import type { Cadence, Calendared } from "../../lib/cadence/cadence-kinds.ts";
import {
  isCalendarRun,
  movedTo,
  nextCalendared,
  nextCalendarRun,
  nominalOf,
  previousCalendared,
  previousCalendarRun,
  stretchesLeftOut,
} from "../../lib/cadence/calendared.ts";
import { arbitraryCase, calendared, cron } from "./arbitrary-calendared.ts";
import { excludesDay, rulesOf } from "./arbitrary-rules.ts";
import { wallClock } from "./minute-scan.ts";
import { dayIn, movedByClock, rememberedClock } from "./moved-by-clock.ts";

const DAY = 86_400_000;
const inner = { nextAfter, previousBefore };

function allOf(cadence: Cadence, from: number, upTo: number): number[] {
  const found: number[] = [];
  for (let at = nextAfter(cadence, from); at !== null && at <= upTo; at = nextAfter(cadence, at))
    found.push(at);
  return found;
}

function allBackOf(cadence: Cadence, from: number, upTo: number): number[] {
  const found: number[] = [];
  let at = previousBefore(cadence, upTo + 1);
  while (at !== null && at > from) {
    found.unshift(at);
    at = previousBefore(cadence, at);
  }
  return found;
}

describe("a calendar that moves occurrences off excluded days", () => {
  test("a search through a calendar that moves days, forwards or backwards, finds what moving each nominal occurrence by its wall time finds", () => {
    fc.assert(
      fc.property(arbitraryCase(fc.constantFrom("next", "previous")), ({ cadence, at }) => {
        const wallAt = rememberedClock(cadence.timezone);
        const upTo = at + 9 * DAY;
        fc.pre(allOf(cadence.of, at, at + DAY).length <= 96);
        const nominal = allOf(cadence.of, at - 34 * DAY, upTo + 34 * DAY);
        const moved = nominal.map((each) => movedByClock(cadence, wallAt, each));
        expect(nominal.map((each) => movedTo(cadence, each))).toEqual(moved);
        const expected = [...new Set(moved)].filter((each) => each !== null && each > at && each <= upTo);
        expected.sort((a, b) => Number(a) - Number(b));
        expect(allOf(cadence, at, upTo)).toEqual(expected);
        expect(allBackOf(cadence, at, upTo)).toEqual(expected);
        for (const each of expected.slice(0, 5)) {
          const sources = nominal.filter((_, index) => moved[index] === each);
          const shown = nominalOf(cadence, Number(each), inner);
          expect(shown).toEqual(sources.filter((source) => shown.includes(source)));
          expect(shown).toHaveLength(Math.min(10, sources.length));
        }
      }),
      { numRuns: 200 },
    );
  });

  test("with a calendar that moves, the next occurrence is later and the same from every instant before it, and previous is the inverse of next", () => {
    fc.assert(
      fc.property(
        arbitraryCase(fc.constantFrom("next", "previous")),
        fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
        ({ cadence, at }, share) => {
          const next = nextAfter(cadence, at);
          if (next === null) {
            expect(previousBefore(cadence, at + 3_000 * DAY) ?? at).toBeLessThanOrEqual(at);
            return;
          }
          expect(next).toBeGreaterThan(at);
          expect(nextAfter(cadence, Math.min(next - 1, at + Math.floor((next - at) * share)))).toBe(next);
          const previous = previousBefore(cadence, next) ?? Number.NEGATIVE_INFINITY;
          expect(previous).toBeLessThanOrEqual(at);
          if (previous > 0) expect(nextAfter(cadence, previous)).toBe(next);
          expect(previousBefore(cadence, next + 1)).toBe(next);
          expect(nominalOf(cadence, next, inner)).not.toEqual([]);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  test("a weekend's run moves to Monday or to Friday, at the same wall time", () => {
    // The clocks go forward on Sunday 29 March.
    const rules = rulesOf({ weekly: ["sat", "sun"] });
    const saturdays = cron("30 9 * * 6", "Europe/Berlin");
    const from = Date.parse("2026-03-28T00:00Z");
    const moved = (on: "next" | "previous") =>
      iso(
        nextAfter(
          { kind: "calendared", of: saturdays, timezone: "Europe/Berlin", on, rules },
          from - 2 * DAY,
        ),
      );
    expect(moved("next")).toBe("2026-03-30T07:30:00.000Z");
    expect(moved("previous")).toBe("2026-03-27T08:30:00.000Z");
  });

  test("a moved occurrence of a list is a run", () => {
    const of: Cadence = { kind: "union", of: [cron("30 9 * * 6", "UTC"), cron("0 7 * * 3", "UTC")] };
    const list = calendared(of, "next", rulesOf({ weekly: ["sat", "sun"] }));
    const at = Date.parse("2026-03-30T09:30:00Z");
    expect(nextAfter(list, at - DAY)).toBe(at);
    expect(isRun(list, at)).toBe(true);
  });

  test("occurrences that a calendar moves to one instant are one, and their nominal instants are listed", () => {
    const rules = rulesOf({ dates: ["12-24..12-26"] });
    const daily = calendared(cron("0 9 * * *", "UTC"), "next", rules);
    const from = Date.parse("2026-12-23T12:00Z");
    expect(allOf(daily, from, from + 5 * DAY).map(iso)).toEqual([
      "2026-12-27T09:00:00.000Z",
      "2026-12-28T09:00:00.000Z",
    ]);
    expect(nominalOf(daily, Date.parse("2026-12-27T09:00Z"), inner).map(iso)).toEqual([
      "2026-12-24T09:00:00.000Z",
      "2026-12-25T09:00:00.000Z",
      "2026-12-26T09:00:00.000Z",
      "2026-12-27T09:00:00.000Z",
    ]);
    expect(nominalOf(daily, Date.parse("2026-12-27T09:01Z"), inner)).toEqual([]);
  });

  test("an occurrence does not move to a day that its zone left out", () => {
    const rules = rulesOf({ dates: ["2011-12-29"] });
    const nightly = calendared(cron("0 9 * * 4", "Pacific/Apia"), "next", rules, "Pacific/Apia");
    const moved = nextAfter(nightly, Date.parse("2011-12-28T00:00Z")) ?? 0;
    expect(wallClock("Pacific/Apia")(moved)).toBe(Date.parse("2011-12-31T09:00Z"));
  });

  test("occurrences that would move by more than 31 days are left out, and the stretches of their days are returned", () => {
    const rules = rulesOf({ dates: ["2026-06-01..2026-08-31"] });
    const weekly = cron("0 9 * * 1", "UTC");
    const from = Date.parse("2026-05-26T00:00Z");
    const upTo = Date.parse("2026-09-08T00:00Z");
    const seen = (on: "next" | "previous") => {
      const cadence = calendared(weekly, on, rules);
      const left = stretchesLeftOut(cadence, { after: from, upTo });
      return {
        at: allOf(cadence, from, upTo).map(iso),
        left: left.map(({ after, upTo: to }) => [iso(after + 1), iso(to + 1)]),
      };
    };
    expect(seen("next")).toEqual({
      at: ["2026-09-01T09:00:00.000Z", "2026-09-07T09:00:00.000Z"],
      left: [["2026-06-01T00:00:00.000Z", "2026-08-01T00:00:00.000Z"]],
    });
    expect(seen("previous")).toEqual({
      at: ["2026-05-31T09:00:00.000Z", "2026-09-07T09:00:00.000Z"],
      left: [["2026-07-02T00:00:00.000Z", "2026-09-01T00:00:00.000Z"]],
    });
  });

  test("a cadence whose occurrences are all left out has no next and no previous one", () => {
    const rules = rulesOf({ dates: ["06-01..08-31"], weekly: ["sun"] });
    const each = calendared(cron("0 9 15 7 *", "Europe/Berlin"), "next", rules, "Europe/Berlin");
    expect(nextAfter(each, Date.parse("2026-01-01"))).toBeNull();
    expect(previousBefore(each, Date.parse("2026-01-01"))).toBeNull();
  });

  test("a moved single occurrence is found from any distance", () => {
    const once: Cadence = { kind: "once", at: Date.parse("2026-12-26T09:00Z") };
    const monday = Date.parse("2026-12-28T09:00Z");
    const moved = calendared(once, "next", rulesOf({ weekly: ["sat", "sun"] }));
    expect(nextAfter(moved, Date.parse("1600-01-01"))).toBe(monday);
    expect(nextAfter(moved, Number.NEGATIVE_INFINITY)).toBe(monday);
    expect(previousBefore(moved, Date.parse("2600-01-01"))).toBe(monday);
    expect(nextAfter(moved, monday)).toBeNull();
    expect(previousBefore(moved, monday)).toBeNull();
  });
});

describe("a calendar that skips", () => {
  test("a calendar that skips keeps all occurrences, and those on allowed days run", () => {
    fc.assert(
      fc.property(arbitraryCase(fc.constant("skip")), ({ cadence, at }) => {
        const wallAt = rememberedClock(cadence.timezone);
        const upTo = at + 10 * DAY;
        const occurrences = allOf(cadence.of, at, upTo);
        expect(allOf(cadence, at, upTo)).toEqual(occurrences);
        expect(allBackOf(cadence, at, upTo)).toEqual(occurrences);
        const runs = occurrences.filter((each) => !excludesDay(cadence.rules, dayIn(wallAt(each))));
        expect(occurrences.filter((each) => isCalendarRun(cadence, each))).toEqual(runs);
        expect(occurrences.filter((each) => movedTo(cadence, each) === each)).toEqual(runs);
        expect(runsOf(cadence, at, upTo)).toEqual(runs);
        expect(runsBackOf(cadence, at, upTo)).toEqual(runs);
        for (const each of occurrences.slice(0, 3)) expect(nominalOf(cadence, each, inner)).toEqual([each]);
      }),
      { numRuns: 500 },
    );
  });

  test("the search for a run ends if a calendar skips every occurrence", () => {
    const never = calendared(cron("0 9 * * 0,6", "UTC"), "skip", rulesOf({ weekly: ["sat", "sun"] }));
    expect(nextRunAfter(never, Date.parse("2026-01-01"))).toBeNull();
    expect(previousRunBefore(never, Date.parse("2026-01-01"))).toBeNull();
  });
});

describe("an excluded year of a cadence of each second", () => {
  const start = Date.parse("2026-03-02");
  const end = Date.parse("2027-03-02");
  const rules = rulesOf({ dates: ["2026-03-02..2027-03-01"] });
  const each = (on: Calendared["on"]) => calendared(cron("* * * * * *", "Europe/Berlin"), on, rules);

  test.each([
    ["skip", end],
    ["previous", end],
    ["next", end],
  ] as const)("a search passes an excluded year of seconds in few steps with %s", (on, first) => {
    const steps = counting();
    expect(iso(nextCalendarRun(each(on), start - 1_000, steps.inner))).toBe(iso(first));
    expect(iso(previousCalendarRun(each(on), end, steps.inner))).toBe(iso(start - 1_000));
    expect(steps.taken()).toBeLessThan(200);
  });

  test("each occurrence after an excluded year costs few steps, although a month of days moves to its day", () => {
    const steps = counting();
    let at: number | null = end - 1;
    for (let second = 0; second < 10; second += 1) {
      at = nextCalendared(each("next"), at ?? 0, steps.inner);
      expect(at).toBe(end + second * 1_000);
    }
    for (let second = 8; second >= 0; second -= 1) {
      at = previousCalendared(each("next"), at ?? 0, steps.inner);
      expect(at).toBe(end + second * 1_000);
    }
    expect(steps.taken() / 19).toBeLessThan(80);
  });
});

function iso(instant: number | null): string | null {
  return instant === null ? null : new Date(instant).toISOString();
}

function counting() {
  let taken = 0;
  const counted =
    (search: typeof nextAfter): typeof nextAfter =>
    (cadence, from) => {
      taken += 1;
      return search(cadence, from);
    };
  return {
    taken: () => taken,
    inner: { nextAfter: counted(nextAfter), previousBefore: counted(previousBefore) },
  };
}

function runsOf(cadence: Cadence, from: number, upTo: number): number[] {
  const found: number[] = [];
  for (let at = nextRunAfter(cadence, from); at !== null && at <= upTo; at = nextRunAfter(cadence, at))
    found.push(at);
  return found;
}

function runsBackOf(cadence: Cadence, from: number, upTo: number): number[] {
  const found: number[] = [];
  let at = previousRunBefore(cadence, upTo + 1);
  while (at !== null && at > from) {
    found.unshift(at);
    at = previousRunBefore(cadence, at);
  }
  return found;
}
