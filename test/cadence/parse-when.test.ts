import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { nextAfter } from "../../lib/cadence/cadence.ts";
import { parseWhen } from "../../lib/cadence/when/parse-when.ts";
import {
  arbitraryCron,
  arbitraryInstant,
  arbitrarySecondCron,
  arbitrarySpecialCron,
} from "./arbitrary-cron.ts";

const now = Date.parse("2026-11-21T08:00:00Z");
function arbitraryAnyCron(): fc.Arbitrary<string> {
  return fc.oneof(arbitraryCron(), arbitrarySpecialCron(), arbitrarySecondCron());
}

const context = { timezone: "UTC", now, key: "a" };

describe("a time", () => {
  test.each([
    ["at 2026-12-01T09:00:00Z", "2026-12-01T09:00:00Z"],
    ["at 2026-12-01T09:00", "2026-12-01T09:00:00Z"],
    ["at 2026-12-01T09:00:00+01:00", "2026-12-01T08:00:00Z"],
    ["at 2026-12-01T09:00-0530", "2026-12-01T14:30:00Z"],
    ["at 2026-12-01T09:00:00.25Z", "2026-12-01T09:00:00.250Z"],
    ["at 2028-02-29T00:00Z", "2028-02-29T00:00:00Z"],
    ["  AT\t2026-12-01T09:00z  ", "2026-12-01T09:00:00Z"],
    ["at(2026-12-01T09:00:00)", "2026-12-01T09:00:00Z"],
    ["at( 2026-12-01T09:00 )", "2026-12-01T09:00:00Z"],
    ["@at 1800000000", "2027-01-15T08:00:00Z"],
    ["at 2026-11-21T07:59:00Z", "2026-11-21T07:59:00Z"],
  ])("%j is read as one run at %s", (when, instant) => {
    const at = Date.parse(instant);
    expect(parseWhen(when, context)).toEqual({
      ok: true,
      cadence: { kind: "once", at },
      relative: false,
      normal: `at ${instant}`,
      description: `once, at ${instant}`,
      warnings: at > now + 366 * 86_400_000 ? [expect.stringContaining("over a year away")] : [],
    });
  });

  test.each([
    ["in 3d", 3 * 86_400_000],
    ["in 90m", 5_400_000],
    ["in 1h30m", 5_400_000],
    ["in 2w", 14 * 86_400_000],
    ["in 1500ms", 1_500],
    ["in 0s", 0],
    ["in 1 hour 30 minutes", 5_400_000],
  ])("%j counts from now and is marked as relative", (when, ms) => {
    expect(parseWhen(when, context)).toMatchObject({
      ok: true,
      relative: true,
      cadence: { kind: "once", at: now + ms },
    });
  });

  test("a time more than a minute ago is refused as past, in every form", () => {
    expect(parseWhen("at 2026-11-21T07:58:59Z", context)).toMatchObject({ kind: "past", position: 3 });
    expect(parseWhen("@at 1647067401", context)).toMatchObject({ kind: "past", position: 4 });
    expect(parseWhen("cron(0 9 ? * 2 2020-2025)", context)).toMatchObject({ kind: "past", position: 0 });
  });
});

describe("an interval", () => {
  test.each([
    ["every 5m", 300_000, "every 5m", "every 5 minutes"],
    ["@every 1h", 3_600_000, "every 1h", "every hour"],
    ["every 1h30m", 5_400_000, "every 1h30m", "every 1 hour 30 minutes"],
    ["every 90m", 5_400_000, "every 1h30m", "every 1 hour 30 minutes"],
    ["every 1s", 1_000, "every 1s", "every second"],
    ["every 1w", 604_800_000, "every 7d", "every 7 days"],
    ["every 30 seconds", 30_000, "every 30s", "every 30 seconds"],
    ["rate(5 minutes)", 300_000, "every 5m", "every 5 minutes"],
    ["rate( 1 day )", 86_400_000, "every 1d", "every day"],
  ])("the interval %j begins one period from now", (when, everyMs, normal, description) => {
    expect(parseWhen(when, context)).toEqual({
      ok: true,
      cadence: { kind: "interval", everyMs, firstAt: now + everyMs },
      relative: false,
      normal,
      description,
      warnings: everyMs < 60_000 ? ["It runs more often than once a minute."] : [],
    });
  });
});

describe("a cron expression", () => {
  test.each([
    ["0 9 * * MON-Fri", "0 9 * * 1-5"],
    ["00 09  *\t* 1,2,3,4,5", "0 9 * * 1-5"],
    ["0 0 * * 7", "0 0 * * 0"],
    ["0 0 * * fri-sun", "0 0 * * 0,5,6"],
    ["0 0 * * 0-7", "0 0 * * *"],
    ["0 0 1-31 * 1", "0 0 * * *"],
    ["0 0 1 jan,Jan,1 *", "0 0 1 1 *"],
    ["0-59/5 * * * *", "*/5 * * * *"],
    ["0-59 0-23 * * *", "0-59 0-23 * * *"],
    ["*/15,7 9 * * *", "*/15,7 9 * * *"],
    ["5/60 9 * * *", "5-5/1 9 * * *"],
    ["1/2 * * * *", "1/2 * * * *"],
    ["1-10/3 * * * *", "1-10/3 * * * *"],
    ["* * * 1-12 *", "* * * * *"],
    ["0 0 9 ? * MON-FRI", "0 9 * * 1-5"],
    ["*/10 * * * * *", "*/10 * * * * *"],
    ["30 0 9 * * *", "30 0 9 * * *"],
    ["0/60 0 9 * * *", "0-0/1 9 * * *"],
    ["0 0 l,15,15w * ?", "0 0 15,15W,L * *"],
    ["0 0 LW,L-03,L,L * *", "0 0 L,L-3,LW * *"],
    ["0 0 * * friL,5l,sun#1,7#1", "0 0 * * 0#1,5L"],
    ["0 0 L-0 * *", "0 0 L * *"],
    ["cron(0 9 ? * MON-FRI *)", "0 9 * * 1-5"],
    ["cron(0 9 ? * 1,7 *)", "0 9 * * 0,6"],
    ["cron(0/15 8-17 ? * 6L *)", "*/15 8-17 * * 5L"],
    ["cron(0 9 ? * L *)", "0 9 * * 6"],
    ["cron(0 9 ? * 3#2 2027-2029)", "cron(0 9 ? * 3#2 2027-2029)"],
    ["cron(0 9 L * ? 2027)", "cron(0 9 L * ? 2027)"],
    ["CRON( 0 9 * * ? 2027,2028 )", "cron(0 9 * * ? 2027,2028)"],
    ["@hourly", "0 * * * *"],
    ["@daily", "0 0 * * *"],
    ["@midnight", "0 0 * * *"],
    ["@weekly", "0 0 * * 0"],
    ["@monthly", "0 0 1 * *"],
    ["@yearly", "0 0 1 1 *"],
    ["@annually", "0 0 1 1 *"],
    ["0 0 */2& * mon", "0 0 1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31 * 1&"],
    ["0 0 1 * 1&", "0 0 1 * 1&"],
    ["0 0 * * 1&", "0 0 * * 1"],
    ["0 0 5& * ?", "0 0 5 * *"],
    ["0 0 1-31& * 1", "0 0 * * 1"],
  ])("%j has the normal form %j", (when, normal) => {
    expect(parseWhen(when, context)).toMatchObject({ normal, cadence: { kind: "cron", expression: normal } });
  });

  test.each([
    ["0 9 * * 1-5", "at 09:00 on Monday to Friday, UTC"],
    ["*/15 * * * *", "every 15 minutes, UTC"],
    ["* * * * *", "every minute, UTC"],
    ["5 * * * *", "at minute 5 of every hour, UTC"],
    ["0 */2 * * *", "at minute 0 of every second hour, UTC"],
    ["30 4 1,15 * 5", "at 04:30 on days 1 and 15 of the month or on Friday, UTC"],
    ["0 0,12 * * *", "at 00:00 and 12:00 every day, UTC"],
    ["0 0 29 2 *", "at 00:00 on day 29 of the month in February, UTC"],
    ["0 9-17 * * sat,sun", "at minute 0 of the hours 09 to 17 on Saturday and Sunday, UTC"],
    ["1-5,30 7 * * *", "at minutes 1 to 5 and 30 of the hour 07, UTC"],
    ["*/10 * * * * *", "every 10 seconds, UTC"],
    ["30 */5 * * * *", "at second 30, every 5 minutes, UTC"],
    ["30 0 9 * * *", "at 09:00:30 every day, UTC"],
    ["0 0 L * *", "at 00:00 on the last day of the month, UTC"],
    ["0 0 L-3 * *", "at 00:00 on the third day before the last of the month, UTC"],
    ["0 0 L-22 * *", "at 00:00 on the 22nd day before the last of the month, UTC"],
    [
      "0 0 1,15W * *",
      "at 00:00 on day 1 of the month or on the Monday-to-Friday nearest day 15 of the month, UTC",
    ],
    [
      "0 0 1-7,L * mon&",
      "at 00:00 on days 1 to 7 of the month or on the last day of the month, if also on Monday, UTC",
    ],
    ["0 8 * * 1#2", "at 08:00 on the second Monday of the month, UTC"],
    ["0 8 * * friL", "at 08:00 on the last Friday of the month, UTC"],
    ["cron(0 9 ? * 2-6 2027-2029)", "at 09:00 on Monday to Friday in 2027 to 2029, UTC"],
  ])("%j has the description %j", (when, description) => {
    expect(parseWhen(when, context)).toMatchObject({ description });
  });

  test("the normal form of a cron is its own normal form, and has the same occurrences", () => {
    fc.assert(
      fc.property(arbitraryAnyCron(), arbitraryInstant(), (expression, after) => {
        const parsed = parseWhen(expression, context);
        if (!parsed.ok) throw new Error(parsed.message);
        const again = parseWhen(parsed.normal, context);
        if (!again.ok) throw new Error(again.message);
        expect(again).toEqual(parsed);
        expect(nextAfter(again.cadence, after)).toBe(nextAfter(parsed.cadence, after));
      }),
      { numRuns: 2_000 },
    );
  });
});
