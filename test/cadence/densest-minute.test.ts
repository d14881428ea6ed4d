import fc from "fast-check";
import { expect, test } from "vitest";
import { nextRunAfter } from "../../lib/cadence/cadence.ts";
import type { Cadence } from "../../lib/cadence/cadence-kinds.ts";
import { firesInDensestMinute } from "../../lib/cadence/densest-minute.ts";
import { firesPerYear, yearMs } from "../../lib/cadence/fires-per-year.ts";
import { dueAt } from "../../lib/schedule/stored/timetable.ts";
import { cron } from "./arbitrary-cadence.ts";
import { calendared } from "./arbitrary-calendared.ts";
import { arbitrarySecondCron } from "./arbitrary-cron.ts";
import { arbitraryRulesAround } from "./arbitrary-rules.ts";

const MINUTE = 60_000;
const DAY = 1_440 * MINUTE;
const july = Date.parse("2026-07-01T00:00:00Z");

/** Changes forward and back, by half an hour, an hour and two hours, and a zone without a change. */
const places = [
  ["Australia/Lord_Howe", "2026-10-03T15:30:00Z"],
  ["Antarctica/Troll", "2026-03-29T01:00:00Z"],
  ["Europe/Berlin", "2027-03-28T01:00:00Z"],
  ["Europe/Berlin", "2026-10-25T01:00:00Z"],
  ["UTC", "2026-07-01T00:00:00Z"],
] as const;

/** The runs after an instant, up to some hundred. */
function runsAfter(cadence: Cadence, after: number, most = 600): number[] {
  const found: number[] = [];
  for (let at = nextRunAfter(cadence, after); at !== null && found.length < most; ) {
    found.push(at);
    at = nextRunAfter(cadence, at);
  }
  return found;
}

/** The most of these runs within any minute. */
function densest(runs: readonly number[]): number {
  return Math.max(0, ...runs.map((from) => runs.filter((at) => at >= from && at < from + MINUTE).length));
}

/** Near a change of clocks, and from the first runs on. */
function densestFound(cadence: Cadence, at: number): number {
  return Math.max(densest(runsAfter(cadence, at - 30 * MINUTE)), densest(runsAfter(cadence, at - 40 * DAY)));
}

const list = (...of: Cadence[]): Cadence => ({ kind: "union", of });
const every = (everyMs: number, firstAt = july): Cadence => ({ kind: "interval", everyMs, firstAt });

test("The densest minute of a cron is counted exactly, on whatever days it runs", () => {
  fc.assert(
    fc.property(arbitrarySecondCron(), (expression) => {
      const cadence = cron(expression, "UTC");
      const runs = runsAfter(cadence, july, 130);
      fc.pre(runs.length > 0);
      expect(firesInDensestMinute(cadence)).toBe(densest(runs));
    }),
    { numRuns: 200 },
  );
});

test("The densest minute of a list is counted by at most two too low, in every zone and window and with every calendar", () => {
  const place = fc.constantFrom(...places).map(([timezone, at]) => ({ timezone, at: Date.parse(at) }));
  fc.assert(
    fc.property(
      place.chain(({ timezone, at }) =>
        fc.record({
          at: fc.constant(at),
          zone: fc.constantFrom(timezone, "Asia/Kathmandu"),
          crons: fc.array(
            arbitrarySecondCron().map((expression) => cron(expression, timezone)),
            { minLength: 1, maxLength: 3 },
          ),
          everyMs: fc.option(fc.integer({ min: 1, max: 200 }).map((seconds) => seconds * 1_000)),
          on: fc.constantFrom(null, "skip" as const, "next" as const, "previous" as const),
          rules: arbitraryRulesAround(Math.floor(at / DAY)),
          length: fc.option(fc.integer({ min: 1, max: 100_000 })),
        }),
      ),
      ({ at, zone, crons, everyMs, on, rules, length }) => {
        const isMoved = on === "next" || on === "previous";
        // Clock changes can give an interval other times on other days.
        const own = everyMs === null || isMoved ? [] : [every(everyMs, at - 60 * DAY)];
        const of = list(...crons, ...own);
        const moved = on === null ? of : calendared(of, on, rules, zone);
        const cadence: Cadence =
          length === null ? moved : { kind: "window", of: moved, startsAt: at, endsAt: at + length };
        expect(densestFound(cadence, at)).toBeLessThanOrEqual(Math.ceil(firesInDensestMinute(cadence)) + 2);
      },
    ),
    { numRuns: 150 },
  );
});

test.each<[string, number, Cadence]>([
  ["each second for two minutes of a year", 60, cron("* 45-46 19 30 11 *", "UTC")],
  ["daily", 1, cron("0 9 * * *", "UTC")],
  ["each minute", 1, cron("* * * * *", "Europe/Berlin")],
  ["the same second at twenty hours", 1, list(...hours(20).map((hour) => cron(`0 ${hour} * * *`, "UTC")))],
  ["twenty seconds of one minute", 20, list(...hours(20).map((s) => cron(`${s} 0 9 * * *`, "UTC")))],
  ["each second on a minute, beside an interval", 66, list(cron("* 0 9 * * *", "UTC"), every(10_000))],
  [
    "twenty intervals with starts that coincide",
    20,
    list(...hours(20).map((s) => every(DAY - (s + 1) * 1_000))),
  ],
  ["an interval of whole minutes beside a cron", 1, list(cron("0 9 * * *", "UTC"), every(60 * MINUTE))],
  [
    "an interval until a window ends",
    60,
    { kind: "window", of: every(1_000), startsAt: july, endsAt: july + 1 },
  ],
  ["single instants", 0, list({ kind: "once", at: july }, { kind: "once", at: july + 1 })],
])("A cadence counts by the fires of its densest minute: %s", (_name, most, cadence) => {
  expect(firesInDensestMinute(cadence)).toBeCloseTo(most, 9);
});

function hours(count: number): number[] {
  return Array.from({ length: count }, (_, hour) => hour);
}

/** All days of July, before 1 August. */
const julyOff = {
  weekly: [],
  dates: Array.from({ length: 31 }, (_, day) => `2026-07-${`${day + 1}`.padStart(2, "0")}`),
};

test.each([1_001, 7_000, 27_000, 61_000, 64_000, 86_399_000, 90_000, 3_600_000])(
  "The days that a calendar moves onto one are counted together, for an interval of %s ms",
  (everyMs) => {
    const cadence = calendared(every(everyMs, july + 40_000), "next", julyOff, "UTC");
    const august = Date.parse("2026-08-01T00:00:00Z");
    const runs = runsAfter(cadence, august - 1, 4_000).filter((at) => at < august + 90_000);
    const counted = firesInDensestMinute(cadence);
    expect(densest(runs)).toBeLessThanOrEqual(Math.max(1, Math.ceil(counted) + 2));
    expect(densest(runs)).toBeGreaterThanOrEqual(Math.floor(counted / 2));
  },
);

test("The occurrences that a slot makes due at one moment are counted as those of one minute", () => {
  const slot = fc.integer({ min: 1, max: 1_440 });
  const lag = fc.integer({ min: 0, max: 3_600 });
  fc.assert(
    fc.property(arbitrarySecondCron(), slot, lag, (expression, slotMinutes, lagSeconds) => {
      const cadence = cron(expression, "UTC");
      const due = runsAfter(cadence, july).map((at) =>
        dueAt({ lagMs: lagSeconds * 1_000, slotMs: slotMinutes * MINUTE }, at),
      );
      const together = Math.max(0, ...due.map((moment) => due.filter((at) => at === moment).length));
      expect(together).toBeLessThanOrEqual(firesInDensestMinute(cadence, slotMinutes * MINUTE));
    }),
    { numRuns: 100 },
  );
});

test.each<[string, number, number, Cadence]>([
  ["a cron each minute, a slot of an hour", 60, 60, cron("* * * * *", "UTC")],
  ["a daily cron, a slot of an hour", 1, 60, cron("0 9 * * *", "Europe/Berlin")],
  ["an interval of five minutes, a slot of an hour", 12, 60, every(5 * MINUTE)],
  ["an interval of an hour, a slot of an hour", 0, 60, every(60 * MINUTE)],
  ["ten seconds of three minutes, a slot of two minutes", 20, 2, cron("0-9 0-2 9 * * *", "UTC")],
  ["around midnight", 3, 15, cron("0,5,55 0,23 * * *", "UTC")],
  [
    "two daily crons, a slot of five minutes",
    1,
    5,
    list(cron("0 9 * * *", "UTC"), cron("0 17 * * *", "UTC")),
  ],
  ["two daily crons, a slot of a day", 2, 1_440, list(cron("0 9 * * *", "UTC"), cron("0 17 * * *", "UTC"))],
])("A slot counts by the most that it gathers: %s", (_name, most, slotMinutes, cadence) => {
  expect(firesInDensestMinute(cadence, slotMinutes * MINUTE)).toBe(most);
});

test.each([
  ["0 9 * * *", 366],
  ["* * 30 11 *", 1_440],
  ["30 0 9 * * 1", 52],
])("A cron that fires at most once in a minute counts by its year alone: %s", (expression, year) => {
  expect(firesPerYear(cron(expression, "UTC"))).toBe(year);
});

test("A cron of two minutes in a year counts as one that runs each second", () => {
  expect(firesPerYear(cron("* 45-46 19 30 11 *", "UTC"))).toBe(firesPerYear(every(1_000)));
  expect(firesPerYear(every(1_000))).toBe(yearMs / 1_000);
});
