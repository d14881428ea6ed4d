import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Dst, nextRunAfter } from "../../lib/cadence/cadence.ts";
import type { Cadence } from "../../lib/cadence/cadence-kinds.ts";
import { type DescribedOccurrence, describeOccurrences } from "../../lib/cadence/occurrence-notes.ts";
import { wallText } from "../../lib/cadence/zone/wall-text.ts";
import { arbitraryCase, calendared, cron } from "./arbitrary-calendared.ts";
import { rulesOf } from "./arbitrary-rules.ts";
import { scanUtc, wallClock } from "./minute-scan.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const berlin = "Europe/Berlin";

/** The runs that have a note, as `wall | note`. */
function notes(cadence: Cadence, after: string, n: number, timezone = berlin): string[] {
  return describeOccurrences(cadence, { timezone, after: Date.parse(after), n })
    .filter(({ note }) => note !== null)
    .map(({ wall, note }) => `${wall} | ${note}`);
}

function zoned(expression: string, dst?: Dst, timezone = berlin): Cadence {
  const plain = cron(expression, timezone);
  return dst === undefined || plain.kind !== "cron" ? plain : { ...plain, dst };
}

describe("the wall time of an instant", () => {
  test.each([
    ["2026-03-29T01:00:00Z", berlin, "2026-03-29T03:00:00+02:00"],
    ["2026-03-29T00:59:59.250Z", berlin, "2026-03-29T01:59:59.250+01:00"],
    ["2026-06-01T00:00:00Z", "America/St_Johns", "2026-05-31T21:30:00-02:30"],
    ["2026-06-01T00:00:00Z", "UTC", "2026-06-01T00:00:00+00:00"],
    ["1960-01-01T00:00:00Z", "Africa/Monrovia", "1959-12-31T23:15:30-00:44:30"],
  ])("the wall time of %s in %s is %s", (instant, timezone, wall) => {
    expect(wallText(Date.parse(instant), timezone)).toBe(wall);
  });
});

describe("a note on a gap", () => {
  const spring = "2026-03-28T12:00Z";
  const clocks = "the clocks go from 02:00 to 03:00";

  test.each([
    ["30 2 * * *", undefined, [`2026-03-29T03:00:00+02:00 | 02:30 does not exist on this day: ${clocks}`]],
    [
      "15,45 2 * * *",
      undefined,
      [`2026-03-29T03:00:00+02:00 | 02:15 and 02:45 do not exist on this day and run once: ${clocks}`],
    ],
    [
      "0 2,3 * * *",
      undefined,
      [
        `2026-03-29T03:00:00+02:00 | 02:00 does not exist on this day and runs together with 03:00: ${clocks}`,
      ],
    ],
    [
      "30 2 * * *",
      { gap: "skip" },
      [`2026-03-30T02:30:00+02:00 | 02:30 does not exist on 2026-03-29 and is left out: ${clocks}`],
    ],
    [
      "15 * * * *",
      undefined,
      [`2026-03-29T03:15:00+02:00 | 02:15 does not exist on this day and is left out: ${clocks}`],
    ],
    [
      "*/20 * * * *",
      undefined,
      [
        `2026-03-29T03:00:00+02:00 | 02:00, 02:20 and 02:40 do not exist on this day and are left out: ${clocks}`,
      ],
    ],
    [
      "*/5 * * * *",
      { gap: "next" },
      [
        `2026-03-29T03:00:00+02:00 | 02:00 to 02:55 do not exist on this day and run together with 03:00: ${clocks}`,
      ],
    ],
    ["45 1,3 * * *", undefined, []],
  ] as const)("a note explains the effect of a clock gap on %j with %j", (expression, dst, expected) => {
    expect(notes(zoned(expression, dst), spring, 200)).toEqual(expected);
  });

  test("a note names the day before if the gap ends at midnight, and the times of a gap of half an hour", () => {
    const greenland = "America/Scoresbysund";
    expect(notes(zoned("30 23 * * *", undefined, greenland), "2025-03-29T12:00Z", 2, greenland)).toEqual([
      "2025-03-30T00:00:00-01:00 | 23:30 does not exist on 2025-03-29: the clocks go from 23:00 to 00:00",
    ]);
    const lordHowe = "Australia/Lord_Howe";
    expect(notes(zoned("15 2 * * *", undefined, lordHowe), "2026-10-03T00:00Z", 2, lordHowe)).toEqual([
      "2026-10-04T02:30:00+11:00 | 02:15 does not exist on this day: the clocks go from 02:00 to 02:30",
    ]);
  });

  test("a note names a day that a zone left out", () => {
    const apia = "Pacific/Apia";
    expect(notes(zoned("0 9 * * *", undefined, apia), "2011-12-29T00:00Z", 3, apia)).toEqual([
      "2011-12-31T09:00:00+14:00 | 09:00 does not exist on 2011-12-30 and is left out: the clocks go from 2011-12-30 00:00 to 2011-12-31 00:00",
    ]);
  });

  test("a note on a gap is also given for an interval by the calendar, in a union and in a window", () => {
    const monthly: Cadence = {
      kind: "calendar-interval",
      every: 1,
      unit: "month",
      anchor: Date.parse("2026-01-29T02:30Z"),
      from: 0,
      timezone: berlin,
    };
    const note = `2026-03-29T03:00:00+02:00 | 02:30 does not exist on this day: ${clocks}`;
    expect(notes(monthly, spring, 3)).toEqual([note]);
    expect(
      notes({ kind: "union", of: [monthly, zoned("30 2 29 * *"), zoned("0 5 * * *")] }, spring, 4),
    ).toEqual([note]);
    const window: Cadence = { kind: "window", of: monthly, startsAt: Date.parse(spring), endsAt: null };
    expect(notes(window, "2026-01-01", 3)).toEqual([note]);
  });

  test("a note does not mention a gap before the window of its cadence", () => {
    const from = (startsAt: string): Cadence => ({
      kind: "window",
      of: zoned("30 2 * * *", { gap: "skip" }),
      startsAt: Date.parse(startsAt),
      endsAt: null,
    });
    expect(notes(from("2026-03-29T12:00Z"), spring, 3)).toEqual([]);
    expect(notes(from("2026-03-29T00:00Z"), spring, 3)).toHaveLength(1);
  });
});

describe("a note on a repeated hour", () => {
  const autumn = "2026-10-24T12:00Z";
  const first = "2026-10-25T02:30:00+02:00 | 02:30 comes twice on this day";
  const second = "2026-10-25T02:30:00+01:00 | 02:30 comes twice on this day";

  test.each([
    ["30 2 * * *", undefined, [`${first}; runs on the first`]],
    ["30 2 * * *", { overlap: "last" }, [`${second}; runs on the second`]],
    ["30 2 * * *", { overlap: "both" }, [`${first}; this is the first`, `${second}; this is the second`]],
    ["30 * * * *", undefined, [`${first}; this is the first`, `${second}; this is the second`]],
    ["30 * * * *", { overlap: "first" }, [`${first}; runs on the first`]],
    ["30 1,3 * * *", undefined, []],
  ] as const)("a note says on which pass of a repeated hour %j with %j runs", (expression, dst, expected) => {
    expect(notes(zoned(expression, dst), autumn, 40)).toEqual(expected);
  });

  test("a note on a repeated hour is also given for an exact interval and for a single time", () => {
    const every: Cadence = { kind: "interval", everyMs: HOUR, firstAt: Date.parse("2026-01-01T00:30Z") };
    expect(notes(every, autumn, 40)).toEqual([
      `${first}; this is the first`,
      `${second}; this is the second`,
    ]);
    expect(notes({ kind: "once", at: Date.parse("2026-10-25T01:30Z") }, autumn, 1)).toEqual([
      `${second}; this is the second`,
    ]);
  });
});

describe("a note on a calendar", () => {
  const weekends = rulesOf({ weekly: ["sat", "sun"], dates: ["12-25"] });
  const before = "2026-12-23T12:00Z";

  test("a note counts the occurrences that a calendar skipped since the run before", () => {
    const daily = calendared(zoned("0 9 * * *"), "skip", weekends, berlin);
    expect(notes(daily, before, 4)).toEqual([
      "2026-12-28T09:00:00+01:00 | 3 left out by the calendar before this",
    ]);
  });

  test("a note names the days whose occurrences a calendar moved to the run", () => {
    const sundays = (on: "next" | "previous") => calendared(zoned("0 9 * * 0"), on, weekends, berlin);
    expect(notes(sundays("next"), before, 1)).toEqual([
      "2026-12-28T09:00:00+01:00 | moved from 2026-12-27 by the calendar",
    ]);
    expect(notes(sundays("previous"), before, 1)).toEqual([
      "2026-12-24T09:00:00+01:00 | moved from 2026-12-27 by the calendar",
    ]);
    expect(notes(calendared(zoned("0 9 * * *"), "next", weekends, berlin), before, 3)).toEqual([
      "2026-12-28T09:00:00+01:00 | also takes what the calendar moved from 2026-12-25, 2026-12-26 and 2026-12-27",
    ]);
  });

  test("a note counts occurrences without a day to move to, and names at most three days", () => {
    const frozen = calendared(zoned("0 9 * * *"), "next", rulesOf({ dates: ["06-01..08-31"] }), berlin);
    expect(notes(frozen, "2026-05-31T12:00Z", 2)).toEqual([
      "2026-09-01T09:00:00+02:00 | 61 left out by the calendar before this; also takes what the calendar moved from 2026-08-01, 2026-08-02, 2026-08-03 and other days",
    ]);
  });

  test("a note counts at most a thousand left-out occurrences, and fewer if many runs have a thousand before them", () => {
    const seldom: Cadence = { kind: "union", of: [zoned("* * * * 0,6"), zoned("0 9 * * 1")] };
    const described = notes(calendared(seldom, "skip", weekends, berlin), before, 30);
    expect(described[0]).toMatch(/\| more than 1,000 left out by the calendar before this$/);
    expect(described.at(-1)).toMatch(/\| some left out by the calendar before this$/);
  });

  test("a note names a clock change that moved an occurrence after a calendar had moved it", () => {
    const saturdays = calendared(zoned("30 2 * * 6"), "next", rulesOf({ weekly: ["sat"] }), berlin);
    expect(notes(saturdays, "2026-03-27", 1)).toEqual([
      "2026-03-29T03:00:00+02:00 | moved from 2026-03-28 by the calendar; 02:30 does not exist on this day: the clocks go from 02:00 to 03:00",
    ]);
    expect(notes(saturdays, "2026-10-23", 1)).toEqual([
      "2026-10-25T02:30:00+02:00 | moved from 2026-10-24 by the calendar; 02:30 comes twice on this day; runs on the first",
    ]);
  });

  test("a note does not mention a gap on a day that a calendar skips anyway", () => {
    const halfHourly = calendared(zoned("30 2 * * *", { gap: "skip" }), "skip", weekends, berlin);
    expect(notes(halfHourly, "2026-03-27T12:00Z", 2)).toEqual([
      "2026-03-30T02:30:00+02:00 | 1 left out by the calendar before this",
    ]);
  });
});

describe("the coming runs", () => {
  const changeNear = (timezone: string, from: number, upTo: number) => {
    const wallAt = wallClock(timezone);
    return wallAt(upTo) - wallAt(from) !== upTo - from;
  };

  test("the described runs are those of the cadence, in order, with wall times that name the same instants", () => {
    fc.assert(
      fc.property(arbitraryCase(fc.constantFrom("skip", "next", "previous")), ({ cadence, at }) => {
        const described = describeOccurrences(cadence, { timezone: cadence.timezone, after: at, n: 20 });
        let since: number | null = at;
        for (const run of described) {
          since = nextRunAfter(cadence, since ?? at);
          expect(run.at).toBe(since);
          expect(Date.parse(run.wall)).toBe(run.at);
          expect(run.note).not.toBe("");
        }
        if (described.length < 20) expect(nextRunAfter(cadence, since ?? at)).toBeNull();
      }),
      { numRuns: 300 },
    );
  });

  test("a run has a note if its wall time does not fit the expression, and none far from a clock change", () => {
    fc.assert(
      fc.property(arbitraryCase(fc.constant("skip")), ({ cadence: { of }, at }) => {
        fc.pre(of.kind === "cron");
        const wallAt = wallClock(of.timezone);
        let since = at;
        for (const run of describeOccurrences(of, { timezone: of.timezone, after: at, n: 40 })) {
          const wall = wallAt(run.at);
          const named = scanUtc(of.expression, wall - MINUTE, wall).includes(wall);
          if (!named) expect(run.note).toContain("not exist");
          if (run.note !== null)
            expect(changeNear(of.timezone, since - 3 * HOUR, run.at + 3 * HOUR)).toBe(true);
          since = run.at;
        }
      }),
      { numRuns: 300 },
    );
  });

  test("at most a thousand runs are described, and fewer if the cadence ends", () => {
    const each = zoned("* * * * *");
    const asked = (cadence: Cadence, n: number): DescribedOccurrence[] =>
      describeOccurrences(cadence, { timezone: "UTC", after: 0, n });
    expect(asked(each, 5_000)).toHaveLength(1_000);
    expect(asked(each, 0)).toEqual([]);
    expect(asked({ kind: "once", at: DAY }, 10)).toEqual([
      { at: DAY, wall: "1970-01-02T00:00:00+00:00", note: null },
    ]);
  });
});
