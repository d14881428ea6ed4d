import { describe, expect, test } from "vitest";
import { parseWhen, type WhenContext } from "../../lib/cadence/when/parse-when.ts";

const now = Date.parse("2026-11-21T08:00:00Z");
const utc: WhenContext = { timezone: "UTC", now, key: "a" };

function warningsOf(when: string, context: Partial<WhenContext> = {}): string[] {
  const parsed = parseWhen(when, { ...utc, ...context });
  if (!parsed.ok) throw new Error(`${when}: ${parsed.message}`);
  return parsed.warnings;
}

const either =
  "Day-of-month and day-of-week are both restricted: it runs on the days that either of them matches; a & after day-of-week, as in 5&, asks for both.";
const often = "It runs more often than once a minute.";

describe("a warning", () => {
  test.each([
    ["0 0 13 * 5", [either]],
    ["0 0 */2 * 1", [either]],
    ["0 0 L * 1", [either]],
    ["*/10 * * * * *", [often]],
    ["0,30 0 9 * * *", [often]],
    ["every 59s", [often]],
    ["rate(1 second)", [often]],
    ["0 0 31 * *", ["Day 31 runs only in months with 31 days; L is the last day of every month."]],
    ["0 0 1,15,30 * *", ["Day 30 does not run in February; L is the last day of every month."]],
    ["0 0 29 * *", ["Day 29 runs in February only in leap years; L is the last day of every month."]],
    [
      "0 0 31W * *",
      [
        "31W is not in every month: it does not run in those that are too short; LW is the last workday of every month.",
      ],
    ],
    ["0 0 L-30 * *", ["L-30 is not in every month: it does not run in those that are too short."]],
    ["0 0 * * fri#5", ["5#5 is not in every month: some have only four of that weekday."]],
    [
      "0 0 29 2 *",
      ["29 February is in leap years only.", "The next run is over a year away, on 2028-02-29."],
    ],
    ["cron(0 9 ? * 2 2030)", ["The next run is over a year away, on 2030-01-07."]],
    ["every 2 years", ["The next run is over a year away, on 2028-11-21."]],
    ["at 2032-11-21T08:00Z", ["The next run is over a year away, on 2032-11-21."]],
  ])("a warning is given for %j: %j", (when, warnings) => {
    expect(warningsOf(when)).toEqual(warnings);
  });

  test.each([
    "0 9 * * 1-5",
    "* * * * *",
    "0 0 1 * ?",
    "0 0 13 * 5&",
    "0 0 1-31 * 1",
    "30 0 9 * * *",
    "every 60s",
    "0 0 31 1,3 *",
    "0 0 30W 4,6 *",
    "0 0 */2 * *",
    "0 0 L,L-27 * *",
    "0 0 * * fri#4",
    "every year",
    "in 800d",
    "at 2027-11-21T08:00Z",
  ])("no warning is given for %j", (when) => {
    expect(warningsOf(when)).toEqual([]);
  });

  test.each([
    [
      "30 2 * * *",
      "Europe/Berlin",
      "2027-03-28 02:30 does not exist in Europe/Berlin; it runs at 03:00 then.",
    ],
    [
      "0,15 2 * * *",
      "Europe/Berlin",
      "2027-03-28 02:00 does not exist in Europe/Berlin; it runs at 03:00 then.",
    ],
    [
      "15 30 2 * * *",
      "Europe/Berlin",
      "2027-03-28 02:30:15 does not exist in Europe/Berlin; it runs at 03:00 then.",
    ],
    [
      "10 2 * * 0",
      "Australia/Lord_Howe",
      "2027-10-03 02:10 does not exist in Australia/Lord_Howe; it runs at 02:30 then.",
    ],
    [
      "0 2 * * *",
      "Antarctica/Troll",
      "2027-03-28 02:00 does not exist in Antarctica/Troll; it runs at 03:00 then.",
    ],
    ["0 0 * * *", "Africa/Cairo", "2027-04-30 00:00 does not exist in Africa/Cairo; it runs at 01:00 then."],
  ])("a warning names the gap into which the fixed time %j falls in %s", (when, timezone, warning) => {
    expect(warningsOf(when, { timezone })).toEqual([warning]);
  });

  test("a warning of a gap is given only for fixed times in it, from the beginning of the schedule on", () => {
    const berlin = { timezone: "Europe/Berlin" };
    for (const when of [
      "30 2 * * 1-5",
      "*/30 2 * * *",
      "30 3 * * *",
      "0 1 * * *",
      "every 2h",
      "30 2 1 * *",
    ]) {
      expect(warningsOf(when, berlin)).toEqual([]);
    }
    expect(warningsOf("30 2 * * *", { ...berlin, startsAt: Date.parse("2027-04-01T00:00Z") })).toEqual([
      "2028-03-26 02:30 does not exist in Europe/Berlin; it runs at 03:00 then.",
    ]);
    expect(warningsOf("every day", { ...berlin, startsAt: Date.parse("2027-01-01T01:30Z") })).toEqual([
      "2027-03-28 02:30 does not exist in Europe/Berlin; it runs at 03:00 then.",
    ]);
    expect(warningsOf("30 2 * * *", { ...berlin, dst: { gap: "skip" } })).toEqual([
      "2027-03-28 02:30 does not exist in Europe/Berlin; it does not run then.",
    ]);
  });

  test("a warning of a far run counts from the beginning of the schedule", () => {
    const startsAt = Date.parse("2029-11-21T08:00Z");
    expect(warningsOf("0 9 * * *", { startsAt })).toEqual([]);
    expect(warningsOf("every 2 years", { startsAt })).toEqual([]);
    expect(warningsOf("0 0 1 11 *", { startsAt: Date.parse("2027-11-01T00:00:00Z") })).toEqual([]);
  });

  test("a warning is given for a time before startsAt, which never runs", () => {
    const startsAt = Date.parse("2026-12-01T00:00Z");
    expect(warningsOf("at 2026-11-30T23:59Z", { startsAt })).toEqual([
      "It is before startsAt, so it never runs.",
    ]);
    expect(warningsOf("at 2026-12-01T00:00Z", { startsAt })).toEqual([]);
  });
});
