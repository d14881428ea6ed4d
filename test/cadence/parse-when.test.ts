import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { nextAfter } from "../../lib/cadence/cadence.ts";
import { parseWhen } from "../../lib/cadence/parse-when.ts";
import { arbitraryCron, arbitraryInstant } from "./arbitrary-cron.ts";

const now = Date.parse("2026-11-21T08:00:00Z");
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
    ["@at 1800000000", "2027-01-15T08:00:00Z"],
    ["at 2026-11-21T07:59:00Z", "2026-11-21T07:59:00Z"],
  ])("%j is once at %s", (when, instant) => {
    const at = Date.parse(instant);
    expect(parseWhen(when, context)).toEqual({
      ok: true,
      cadence: { kind: "once", at },
      relative: false,
      normal: `at ${instant}`,
      description: `once, at ${instant}`,
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
  ])("%j counts from now and says so", (when, ms) => {
    expect(parseWhen(when, context)).toMatchObject({
      ok: true,
      relative: true,
      cadence: { kind: "once", at: now + ms },
    });
  });

  test("more than a minute past is over, whichever way it is written", () => {
    expect(parseWhen("at 2026-11-21T07:58:59Z", context)).toMatchObject({ kind: "past", position: 3 });
    expect(parseWhen("@at 1647067401", context)).toMatchObject({ kind: "past", position: 4 });
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
  ])("%j begins one period from now", (when, everyMs, normal, description) => {
    expect(parseWhen(when, context)).toEqual({
      ok: true,
      cadence: { kind: "interval", everyMs, firstAt: now + everyMs },
      relative: false,
      normal,
      description,
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
  ])("%j reads %j", (when, description) => {
    expect(parseWhen(when, context)).toMatchObject({ description });
  });

  test("L8: the normal form reads as itself and has the same occurrences", () => {
    fc.assert(
      fc.property(arbitraryCron(), arbitraryInstant(), (expression, after) => {
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

describe("a refusal", () => {
  test.each([
    ["", 0],
    ["   ", 3],
    ["tomorrow", 0],
    ["at", 2],
    ["at 2026-12-01", 13],
    ["at 2026-12-01 09:00", 13],
    ["at 2026-13-01T09:00", 8],
    ["at 2027-02-29T09:00", 11],
    ["at 2026-12-01T24:00", 14],
    ["at 2026-12-01T09:00:60Z", 20],
    ["at 2026-12-01T09:00:00.1234Z", 26],
    ["at 2026-12-01T09:00+25:00", 19],
    ["at 2026-12-01T09:00 Europe/Berlin", 19],
    ["at 2127-12-01T09:00Z", 3],
    ["@at", 3],
    ["@at 1.5", 4],
    ["@at 1800000000000", 4],
    ["in", 2],
    ["in 5", 4],
    ["in 5x", 4],
    ["in -5m", 3],
    ["in 1.5h", 4],
    ["in 30m1h", 7],
    ["in 5m5m", 6],
    ["in 200000d", 3],
    ["in 99999999999999999999d", 3],
    ["every 999ms", 6],
    ["every 0s", 6],
    ["every", 5],
    ["@reboot", 0],
    ["TZ=UTC 0 0 * * *", 0],
    ["0 0 * *", 7],
    ["0 0 * * * * *", 10],
    ["1,,2 * * * *", 2],
    ["0 0 * * mon-", 12],
    ["0 0 * mon *", 6],
    ["0 0 0 * *", 4],
    ["0 5-3 * * *", 2],
    ["*/0 * * * *", 2],
    ["*/61 * * * *", 2],
    ["0 0 31 2,4,6 *", 4],
    ["0 0 * * 1\n", 9],
    ["0\u00a00 * * *", 1],
    [`${"0".repeat(250)} * * * *`, 256],
  ])("of %j points at character %i", (when, position) => {
    expect(parseWhen(when, context)).toMatchObject({ ok: false, kind: "invalid", position });
  });

  test.each([
    ["0 0 9 * * *", 10],
    ["0 0 L * *", 4],
    ["0 0 ? * 1", 4],
    ["0 0 15W * *", 4],
    ["0 0 L-3 * *", 4],
    ["0 0 * * 1#1", 8],
    ["0 0 * * 5L", 8],
    ["H 3 * * *", 0],
    ["H/15 * * * *", 0],
    ["H(0-29) * * * *", 0],
    ["@hourly", 0],
    ["rate(5 minutes)", 0],
    ["cron(0 9 ? * MON-FRI *)", 0],
    ["at(2026-12-01T09:00:00)", 0],
    ["every 1 month", 8],
    ["every 2 weeks", 8],
  ])("of %j says that the form is known but not available yet", (when, position) => {
    expect(parseWhen(when, context)).toMatchObject({ ok: false, kind: "unsupported", position });
  });

  test("never comes as an exception, whatever the text, and points into it", () => {
    const words = fc.constantFrom(
      "at",
      "in",
      "every",
      "@at",
      "0",
      "*",
      "*/5",
      "1-5",
      "mon",
      "L",
      "(",
      ")",
      " ",
      "\t",
      ",",
      "-",
      "#",
      "Z",
      "é",
    );
    const text = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.array(words, { maxLength: 12 }).map((parts) => parts.join(" ")),
    );
    fc.assert(
      fc.property(text, (when) => {
        const parsed = parseWhen(when, context);
        if (parsed.ok) return;
        expect(parsed.position).toBeGreaterThanOrEqual(0);
        expect(parsed.position).toBeLessThanOrEqual(when.length);
        expect(parsed.message).toMatch(/\.$/);
      }),
      { numRuns: 5_000 },
    );
  });
});
