import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type CalendarRules,
  isExcluded,
  nextAllowedDay,
  previousAllowedDay,
  readCalendarRules,
  stretchDaysMax,
} from "../../lib/cadence/calendar-rules.ts";
import { arbitraryRulesAround, dateOf, excludesDay, rulesOf } from "./arbitrary-rules.ts";

const dayOn = (date: string) => Date.parse(date) / 86_400_000;
const someDay = fc.integer({ min: dayOn("2019-01-01"), max: dayOn("2033-12-31") });

function refused(input: unknown): string[] {
  const read = readCalendarRules(input);
  return read.ok ? [] : read.faults.map(({ path, message }) => `${path}: ${message}`);
}

const excludedOf = (rules: CalendarRules, dates: readonly string[]) =>
  dates.filter((date) => isExcluded(rules, dayOn(date)));

describe("a calendar", () => {
  test("a calendar excludes exactly the days that its rules name, looked up in any order", () => {
    fc.assert(
      fc.property(
        someDay.chain((day) => fc.tuple(fc.constant(day), arbitraryRulesAround(day))),
        ([middle, rules]) => {
          const days = [-80, -39, -8, -7, -3, -2, -1, 0, 1, 2, 3, 4, 5, 30, 41, 366].map((by) => middle + by);
          const years = [365, 1461, -730].map((by) => middle + by);
          for (const day of [...days, ...years]) {
            expect(`${dateOf(day)} ${isExcluded(rules, day)}`).toBe(
              `${dateOf(day)} ${excludesDay(rules, day)}`,
            );
          }
        },
      ),
      { numRuns: 500 },
    );
  });

  test("the nearest allowed day is found, and may be the day itself", () => {
    fc.assert(
      fc.property(
        someDay.chain((day) => fc.tuple(fc.constant(day), arbitraryRulesAround(day))),
        ([day, rules]) => {
          let next = day;
          while (excludesDay(rules, next)) next += 1;
          expect(nextAllowedDay(rules, day)).toBe(next);
          let previous = day;
          while (excludesDay(rules, previous)) previous -= 1;
          expect(previousAllowedDay(rules, day)).toBe(previous);
        },
      ),
      { numRuns: 300 },
    );
  });

  test("a yearly range may run over the turn of the year", () => {
    const rules = rulesOf({ dates: ["12-30..01-02"] });
    const dates = ["2026-12-29", "2026-12-30", "2026-12-31", "2027-01-01", "2027-01-02", "2027-01-03"];
    expect(excludedOf(rules, dates)).toEqual(["2026-12-30", "2026-12-31", "2027-01-01", "2027-01-02"]);
  });

  test("a yearly 29 February is excluded in leap years, also inside of a yearly range", () => {
    expect(excludedOf(rulesOf({ dates: ["02-29"] }), ["2027-02-28", "2027-03-01", "2028-02-29"])).toEqual([
      "2028-02-29",
    ]);
    const around = ["2027-02-27", "2027-02-28", "2027-03-01", "2027-03-02", "2028-02-29", "2028-03-01"];
    expect(excludedOf(rulesOf({ dates: ["02-28..03-01"] }), around)).toEqual(
      around.filter((date) => !["2027-02-27", "2027-03-02"].includes(date)),
    );
  });

  test("a day in `except` is allowed, even if other rules exclude it", () => {
    const rules = rulesOf({ weekly: ["sat"], dates: ["2026-12-26"], except: ["2026-12-26"] });
    expect(excludedOf(rules, ["2026-12-19", "2026-12-26", "2027-01-02"])).toEqual([
      "2026-12-19",
      "2027-01-02",
    ]);
  });

  test("the search for an allowed day ends at its limit", () => {
    const never: CalendarRules = { dates: ["01-01..12-31"], weekly: [] };
    expect(nextAllowedDay(never, 20_000)).toBeNull();
    expect(previousAllowedDay(never, 20_000)).toBeNull();
    const freeze = rulesOf({ dates: [`2026-01-01..${dateOf(dayOn("2026-01-01") + stretchDaysMax - 1)}`] });
    expect(nextAllowedDay(freeze, dayOn("2026-01-01"))).toBe(dayOn("2026-01-01") + stretchDaysMax);
  });
});

describe("reading a calendar", () => {
  test("the entries of a calendar are read sorted, each once", () => {
    const read = readCalendarRules({
      weekly: ["sun", "sat", "sun"],
      dates: ["2026-12-26", "12-25", "2026-12-26", "2026-05-01..2026-05-01", "12-24..12-24"],
      except: [],
    });
    expect(read).toEqual({
      ok: true,
      rules: { dates: ["12-24", "12-25", "2026-05-01", "2026-12-26"], weekly: ["sat", "sun"] },
    });
  });

  test("the rules of a calendar are read back as the same rules", () => {
    fc.assert(
      fc.property(someDay.chain(arbitraryRulesAround), (rules) => {
        expect(readCalendarRules(JSON.parse(JSON.stringify(rules)))).toEqual({ ok: true, rules });
      }),
    );
  });

  test("a calendar may exclude no day", () => {
    expect(readCalendarRules({})).toEqual({ ok: true, rules: { dates: [], weekly: [] } });
  });

  const form =
    "takes a day (2026-12-25), a day of every year (12-25), or a range of either (2026-12-24..2027-01-02, 12-24..01-02)";

  test.each([
    ["2026-13-01", "holds 2026-13-01, a day that does not exist"],
    ["2027-02-29", "holds 2027-02-29, a day that does not exist"],
    ["02-30", "holds 02-30, a day that does not exist"],
    ["00-10", "holds 00-10, a day that does not exist"],
    ["2026-01-01..2026-02-30", "holds 2026-02-30, a day that does not exist"],
    ["1969-12-31", "takes years from 1970 to 2199"],
    ["2200-01-01", "takes years from 1970 to 2199"],
    ["2026-01-02..2026-01-01", "ends before it begins"],
    ["2026-01-02..03-01", "takes a range whose ends both name a year, or neither"],
    ["01-02..2026-03-01", "takes a range whose ends both name a year, or neither"],
    ["2020-01-01..2030-01-08", "is a range of more than 3660 days"],
    ["2026-1-1", form],
    ["2026-01-01...2026-01-02", form],
    ["2026-01-01T00:00", form],
    [" 12-25", form],
    ["12-25\n", form],
    ["", form],
    [1225, form],
    [null, form],
  ])("the calendar date %j is refused: it %s", (date, message) => {
    expect(refused({ dates: ["12-25", date] })).toEqual([`dates[1]: ${message}`]);
    expect(refused({ except: [date] })).toEqual([`except[0]: ${message}`]);
  });

  test.each([
    [null, [": takes an object with `dates`, `weekly` and `except`"]],
    [["12-25"], [": takes an object with `dates`, `weekly` and `except`"]],
    [{ date: [], dates: "12-25" }, ["date: is not a field here", "dates: takes a list"]],
    [{ weekly: ["Mon"] }, ["weekly[0]: takes one of mon, tue, wed, thu, fri, sat, sun"]],
    [
      { weekly: ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] },
      ["weekly: excludes every day of the week: nothing could ever run"],
    ],
    [
      { dates: Array.from({ length: 2_001 }, () => "12-25") },
      ["dates: takes at most 2000 entries, has 2001"],
    ],
  ])("the calendar rules %j are refused", (input, faults) => {
    expect(refused(input)).toEqual(faults);
  });

  test.each([
    [{ dates: ["01-01..12-31"] }],
    [{ dates: ["03-01..02-28"], weekly: ["mon"] }],
    [{ dates: ["2030-01-01..2040-01-07", "2040-01-08..2040-01-09"] }],
    [{ dates: ["2189-12-24..2199-12-31", "01-01..01-10"] }],
  ])("the calendar rules %j are refused, since they allow no day for more than ten years", (input) => {
    expect(refused(input)).toEqual([
      expect.stringMatching(/^dates: leave no day free for more than 3660 days in a row, as around \d{4}-/),
    ]);
  });

  test("calendar rules may allow a day only every few years", () => {
    expect(refused({ dates: ["03-01..02-28"] })).toEqual([]);
    expect(refused({ dates: ["01-01..12-31"], except: ["07-01"] })).toEqual([]);
    expect(refused({ dates: ["2030-01-01..2040-01-07", "2040-01-09..2050-01-01"] })).toEqual([]);
  });

  test("a list of dates with many faults is refused with the first hundred", () => {
    expect(refused({ dates: Array.from({ length: 2_000 }, () => "x") })).toHaveLength(100);
  });

  test("reading a calendar throws no error, for any input", () => {
    const almost = fc.record({
      dates: fc.array(fc.anything()),
      weekly: fc.anything(),
      except: fc.array(fc.string()),
    });
    fc.assert(
      fc.property(fc.oneof(fc.anything(), almost), (input) => {
        expect(typeof readCalendarRules(input).ok).toBe("boolean");
      }),
    );
  });
});
