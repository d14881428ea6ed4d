import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { storedForm } from "../../lib/cadence/stored-cadence.ts";
import { parseWhen } from "../../lib/cadence/when/parse-when.ts";
import { countedSteps } from "../support/counted-steps.ts";
import { arbitraryMutant, whens, zone } from "./when-texts.ts";

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
    ["H(0-29 * * * *", 6],
    ["H() * * * *", 2],
    ["H(5) * * * *", 2],
    ["H(0-60) * * * *", 4],
    ["H(30-20) * * * *", 2],
    ["H(0-29-3) * * * *", 2],
    ["H(*) * * * *", 2],
    ["H/0 * * * *", 2],
    ["H/61 * * * *", 2],
    ["H(0-9)/11 * * * *", 7],
    ["H(0-9)x * * * *", 6],
    ["H-5 * * * *", 1],
    ["0 0 H(0-5) * *", 6],
    ["0 0 H(30-31) 2 *", 4],
    ["cron(H 9 ? * 2 H)", 15],
    ["cron(H(0-9 9 ? * 2 *", 20],
    ["every 0 days", 6],
    ["every 1201 months", 6],
    ["every 99999999999999999999 weeks", 6],
    ["every 3 days 12 hours", 8],
    ["every day at 09:00", 6],
    ["every monday", 6],
    ["every 1y", 7],
    ["every 5 mintues", 8],
    ["every P", 7],
    ["every PT", 7],
    ["every P1H", 8],
    ["every PT1D", 9],
    ["every PT1M1H", 11],
    ["every PT1.5H", 10],
    ["every PT0.0001S", 10],
    ["every P1M2D", 6],
    ["every P0M", 6],
    ["every PT0.5S", 6],
    ["in P1M", 5],
    ["in 1 month", 5],
    ["rate(1 month)", 7],
    ["0 9 * * * | 0 10 * * *", 10],
    ["evry 5m", 0],
    ["0 0 * * monday", 8],
  ])("the refusal of %j points at character %i", (when, position) => {
    expect(parseWhen(when, context)).toMatchObject({ ok: false, kind: "invalid", position });
  });

  test.each([
    ["evry 5m", "did you mean every?"],
    ["@dayly", "did you mean @daily?"],
    ["hourly", "did you mean @hourly?"],
    ["0 0 * * monday", "did you mean mon?"],
    ["0 0 * sept *", "did you mean sep?"],
    ["0 0 * jna *", "did you mean jan?"],
    ["every mnth", "did you mean month?"],
    ["every 5 mintues", "perhaps minutes"],
    ["every 1y", "every 1 year"],
    ["every 2 days 3 hours", "every 36h"],
    ["every P1H", "a T is missing before H"],
    ["0 9 * * * | 0 10 * * *", "a list"],
    ["H(5) * * * *", "H(0-29)"],
    ["* * * * 9", "0–7, names (sun–sat)"],
  ])("the refusal of %j has the hint: %s", (when, hint) => {
    expect(parseWhen(when, context)).toMatchObject({ ok: false, message: expect.stringContaining(hint) });
  });

  test.each([
    ["daily at 02:30", "30 2 * * *"],
    ["Daily 2:30", "30 2 * * *"],
    ["daily at 12am", "0 0 * * *"],
    ["daily at 9 pm", "0 21 * * *"],
    ["weekly on monday at 9", "0 9 * * 1"],
    ["Wednesdays at 17:45", "45 17 * * 3"],
    ["hourly at :15", "15 * * * *"],
    ["every hour at :05", "5 * * * *"],
    ["every day at 09:00", "0 9 * * *"],
    ["every weekday at 9:30", "30 9 * * 1-5"],
    ["every sunday at 8", "0 8 * * 0"],
  ])("The refusal of %j names the expression with the same meaning: %s", (when, meant) => {
    expect(parseWhen(when, context)).toMatchObject({
      ok: false,
      message: expect.stringContaining(`did you mean ${meant}?`),
    });
    expect(parseWhen(meant, context)).toMatchObject({ ok: true });
  });

  test.each([
    "daily at 02:30 and 14:00",
    "daily at 25:00",
    "daily at 13pm",
    "weekly at 9",
    "hourly at 15",
    "monthly on the 31st",
    "every 2 days at 9",
    "every other day at 9",
    "daily shift at 9",
    "on 2026-12-01",
  ])("The refusal of %j names no expression with another meaning", (when) => {
    const refused = parseWhen(when, context);
    expect(refused).toMatchObject({ ok: false });
    expect(refused).not.toMatchObject({ message: expect.stringContaining("did you mean") });
  });

  test("a time counted from now is refused beside startsAt, and the refusal points at the time", () => {
    expect(parseWhen("in 3h", { ...context, startsAt: context.now })).toMatchObject({
      kind: "invalid",
      position: 3,
    });
  });

  test("a cron whose years are all before startsAt is refused as past", () => {
    const startsAt = Date.parse("2028-01-01T00:00:00Z");
    expect(parseWhen("cron(0 9 ? * 2 2027)", { ...context, startsAt })).toMatchObject({ kind: "past" });
    expect(parseWhen("cron(0 9 ? * 2 2028)", { ...context, startsAt })).toMatchObject({ ok: true });
  });
});

/**
 * The limit of steps for one text: a search through 400 years without a result takes about 36,000
 * steps.
 */
const stepsMax = 50_000;

describe("for every text", () => {
  test("a parse throws no error, and a fault points into the text", () => {
    fc.assert(
      fc.property(whens, zone, fc.string(), (when, timezone, key) => {
        const parsed = parseWhen(when, { ...context, timezone, key });
        if (parsed.ok) {
          for (const words of [parsed.description, ...parsed.warnings])
            expect(words).not.toMatch(/undefined|NaN|null/);
          expect(storedForm(parsed.cadence).expression.length).toBeLessThanOrEqual(2_000);
          return;
        }
        const faulty = typeof when === "string" ? when : (when[parsed.index ?? 0] ?? "");
        expect(parsed.position).toBeGreaterThanOrEqual(0);
        expect(parsed.position).toBeLessThanOrEqual(faulty.length);
        expect(parsed.message).toMatch(/\.$/);
        expect(parsed.message.length).toBeLessThan(400);
      }),
      { numRuns: 10_000 },
    );
  });

  test("a parse takes no more steps than a search through 400 years", async () => {
    const counted = await countedSteps(new URL("./when-steps.ts", import.meta.url));
    expect(counted.length).toBeGreaterThan(3_000);
    const texts = (name: string) => Math.max(1, [JSON.parse(name)].flat().length);
    expect(counted.filter(({ name, steps }) => steps > stepsMax * texts(name))).toEqual([]);
  });

  test("an accepted text has a normal form that is accepted too, with the same cadence", () => {
    let understood = 0;
    fc.assert(
      fc.property(arbitraryMutant(), zone, (when, timezone) => {
        const parsed = parseWhen(when, { ...context, timezone });
        if (!parsed.ok || parsed.relative) return;
        understood += 1;
        const again = parseWhen(parsed.normal, { ...context, timezone });
        expect(again).toMatchObject({ ok: true, cadence: parsed.cadence, normal: parsed.normal });
      }),
      { numRuns: 5_000 },
    );
    expect(understood).toBeGreaterThan(500);
  });
});
