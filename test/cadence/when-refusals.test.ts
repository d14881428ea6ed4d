import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseWhen } from "../../lib/cadence/parse-when.ts";

const context = { timezone: "UTC", now: Date.parse("2026-11-21T08:00:00Z"), key: "a" };

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
    ["0 0 * * * * *", 12],
    ["@daily 5", 0],
    ["? * * * *", 0],
    ["0 0 L-31 * *", 6],
    ["0 0 L-30 2 *", 4],
    ["0 0 30W 2 *", 4],
    ["0 0 32W * *", 4],
    ["0 0 L * L", 8],
    ["0 0 * * 8L", 8],
    ["0 0 * * #1", 8],
    ["0 0 * * 1#6", 10],
    ["0 0 * * 1#", 10],
    ["0 0 * 1L *", 6],
    ["* L * * *", 2],
    ["cron(0 9 ? * MON-FRI)", 20],
    ["cron(0 9 ? * MON-FRI * *)", 23],
    ["cron(0 9 * * * *)", 13],
    ["cron(0 9 ? * ? *)", 13],
    ["cron(0 9 ? * 0 *)", 13],
    ["cron(0 9 ? * FRI-SUN *)", 13],
    ["cron(0 9 ? * 2 1969)", 15],
    ["cron(0 9 ? * 2 2150)", 0],
    ["cron(0 9 ? * 2 *", 16],
    ["cron(0 9 ? * 2 *) x", 17],
    ["rate(5 minutes", 14],
    ["rate(5 minutes) x", 15],
    ["rate(5)", 6],
    ["rate 5 minutes", 5],
    ["at(2026-12-01)", 13],
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
