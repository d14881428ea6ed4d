import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { nextAfter, previousBefore } from "../../lib/cadence/cadence.ts";
import type { Cadence } from "../../lib/cadence/cadence-kinds.ts";
import { parseWhen, type WhenContext } from "../../lib/cadence/when/parse-when.ts";

const now = Date.parse("2026-11-21T08:00:00Z");
const berlin: WhenContext = { timezone: "Europe/Berlin", now, key: "a" };

function cadenceOf(when: string, context: WhenContext): Cadence {
  const parsed = parseWhen(when, context);
  if (!parsed.ok) throw new Error(`${when}: ${parsed.message}`);
  return parsed.cadence;
}

function coming(cadence: Cadence, after: string, count: number): string[] {
  const found: string[] = [];
  let at = nextAfter(cadence, Date.parse(after));
  while (at !== null && found.length < count) {
    found.push(new Date(at).toISOString().replace(":00.000Z", "Z"));
    at = nextAfter(cadence, at);
  }
  return found;
}

describe("an interval by the calendar", () => {
  test.each([
    ["every 1 month", 1, "month", "every 1 month"],
    ["every month", 1, "month", "every 1 month"],
    ["EVERY 2 Weeks", 2, "week", "every 2 weeks"],
    ["every 2weeks", 2, "week", "every 2 weeks"],
    ["every 14 days", 2, "week", "every 2 weeks"],
    ["every day", 1, "day", "every 1 day"],
    ["every 12 months", 1, "year", "every 1 year"],
    ["every year", 1, "year", "every 1 year"],
    ["every P1M", 1, "month", "every 1 month"],
    ["every P1Y6M", 18, "month", "every 18 months"],
    ["@every 3 days", 3, "day", "every 3 days"],
  ])("%j means every %i of the calendar unit %s", (when, every, unit, normal) => {
    const parsed = parseWhen(when, berlin);
    const anchor = Date.parse("2026-11-21T09:00:00Z");
    const cadence = { kind: "calendar-interval", every, unit, anchor, from: 1, timezone: "Europe/Berlin" };
    expect(parsed).toMatchObject({ ok: true, cadence, normal, relative: false });
    expect(parseWhen(normal, berlin)).toEqual(parsed);
  });

  test("an interval by the calendar begins one period from now, or at startsAt", () => {
    const startsAt = Date.parse("2026-12-07T05:30:00Z");
    expect(coming(cadenceOf("every 2 weeks", berlin), "2026-11-21T08:00Z", 2)).toEqual([
      "2026-12-05T08:00Z",
      "2026-12-19T08:00Z",
    ]);
    expect(coming(cadenceOf("every 2 weeks", { ...berlin, startsAt }), "2026-11-21T08:00Z", 2)).toEqual([
      "2026-12-07T05:30Z",
      "2026-12-21T05:30Z",
    ]);
  });

  test("a monthly interval from the 31st occurs on the last day of shorter months, and on the 31st again after them", () => {
    const startsAt = Date.parse("2027-01-31T08:00:00Z");
    expect(coming(cadenceOf("every month", { ...berlin, startsAt }), "2027-01-01T00:00Z", 5)).toEqual([
      "2027-01-31T08:00Z",
      "2027-02-28T08:00Z",
      "2027-03-31T07:00Z",
      "2027-04-30T07:00Z",
      "2027-05-31T07:00Z",
    ]);
    const leapDay = Date.parse("2028-02-29T08:00:00Z");
    expect(
      coming(cadenceOf("every 2 years", { ...berlin, startsAt: leapDay }), "2028-01-01T00:00Z", 3),
    ).toEqual(["2028-02-29T08:00Z", "2030-02-28T08:00Z", "2032-02-29T08:00Z"]);
    expect(
      coming(cadenceOf("every 100 years", { ...berlin, startsAt: leapDay }), "2029-01-01T00:00Z", 1),
    ).toEqual(["2128-02-29T08:00Z"]);
  });

  test("an interval by the calendar keeps its wall time, and runs at the end of a gap and on the first pass of a repeated hour", () => {
    const startsAt = Date.parse("2026-03-27T01:30:00Z");
    const daily = cadenceOf("every day", { ...berlin, startsAt });
    expect(coming(daily, "2026-03-27T12:00Z", 3)).toEqual([
      "2026-03-28T01:30Z",
      "2026-03-29T01:00Z",
      "2026-03-30T00:30Z",
    ]);
    expect(coming(daily, "2026-10-24T12:00Z", 2)).toEqual(["2026-10-25T00:30Z", "2026-10-26T01:30Z"]);
    const skipping = cadenceOf("every day", { ...berlin, startsAt, dst: { gap: "skip", overlap: "both" } });
    expect(coming(skipping, "2026-03-28T12:00Z", 1)).toEqual(["2026-03-30T00:30Z"]);
    expect(coming(skipping, "2026-10-24T12:00Z", 2)).toEqual(["2026-10-25T00:30Z", "2026-10-25T01:30Z"]);
  });

  test("an interval by the calendar has no occurrence on a day that its zone has left out", () => {
    const startsAt = Date.parse("2011-12-28T20:00:00Z");
    const apia = cadenceOf("every day", { timezone: "Pacific/Apia", now: startsAt, key: "a", startsAt });
    expect(coming(apia, "2011-12-28T00:00Z", 4)).toEqual([
      "2011-12-28T20:00Z",
      "2011-12-29T20:00Z",
      "2011-12-30T20:00Z",
      "2011-12-31T20:00Z",
    ]);
    expect(
      coming(
        cadenceOf("every 2 days", { timezone: "Pacific/Apia", now: startsAt, key: "a", startsAt }),
        "2011-12-28T00:00Z",
        2,
      ),
    ).toEqual(["2011-12-28T20:00Z", "2011-12-31T20:00Z"]);
  });

  test("the k-th occurrence of an interval by the calendar is k periods after its anchor, in every search", () => {
    fc.assert(
      fc.property(
        fc.constantFrom("day", "week", "month", "year"),
        fc.integer({ min: 1, max: 30 }),
        fc.integer({ min: Date.UTC(2010, 0, 1), max: Date.UTC(2030, 0, 1) }),
        fc.integer({ min: 0, max: 60 }),
        (unit, every, startsAt, k) => {
          const cadence = cadenceOf(`every ${every} ${unit}s`, {
            timezone: "UTC",
            now: startsAt,
            key: "a",
            startsAt,
          });
          const at = stepped(startsAt, unit, every * k);
          expect(nextAfter(cadence, at - 1)).toBe(at);
          expect(previousBefore(cadence, at + 1)).toBe(at);
          expect(nextAfter(cadence, at)).toBe(stepped(startsAt, unit, every * (k + 1)));
          expect(previousBefore(cadence, at)).toBe(k === 0 ? null : stepped(startsAt, unit, every * (k - 1)));
        },
      ),
      { numRuns: 1_000 },
    );
  });

  test.each([
    [
      "every month",
      "2027-01-31T08:00:00Z",
      "every month at 09:00 from 2027-01-31, on the last day of shorter months, Europe/Berlin",
    ],
    ["every 2 weeks", "2026-12-07T05:30:30Z", "every 2 weeks at 06:30:30 from 2026-12-07, Europe/Berlin"],
    [
      "every year",
      "2028-02-29T08:00:00Z",
      "every year at 09:00 from 2028-02-29, on the last day of shorter months, Europe/Berlin",
    ],
    ["every 3 days", null, "every 3 days at 09:00 counted from 2026-11-21, Europe/Berlin"],
  ])("%j from %s has the description %j", (when, startsAt, description) => {
    const context = { ...berlin, startsAt: startsAt === null ? null : Date.parse(startsAt) };
    expect(parseWhen(when, context)).toMatchObject({ description });
  });
});

describe("an exact interval", () => {
  test("an exact interval begins at startsAt, written in ISO 8601 or in the short form", () => {
    const startsAt = now + 12_345;
    for (const when of ["every 90m", "every PT1H30M", "every PT90M", "rate(90 minutes)"]) {
      expect(cadenceOf(when, { ...berlin, startsAt })).toEqual({
        kind: "interval",
        everyMs: 5_400_000,
        firstAt: startsAt,
      });
    }
    expect(cadenceOf("every hour", berlin)).toEqual({
      kind: "interval",
      everyMs: 3_600_000,
      firstAt: now + 3_600_000,
    });
  });

  test.each([
    ["every P1D", 1],
    ["every 24h", 1],
    ["every 7d", 7],
    ["every P2W", 14],
    ["rate(1 day)", 1],
  ])("%j is exact, not by the calendar", (when, days) => {
    expect(cadenceOf(when, berlin)).toMatchObject({ kind: "interval", everyMs: days * 86_400_000 });
  });
});

function stepped(anchor: number, unit: string, units: number): number {
  if (unit === "day" || unit === "week") return anchor + units * (unit === "week" ? 7 : 1) * 86_400_000;
  const first = new Date(anchor);
  const day = first.getUTCDate();
  const at = new Date(anchor);
  at.setUTCDate(1);
  at.setUTCMonth(first.getUTCMonth() + units * (unit === "year" ? 12 : 1));
  const length = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 0)).getUTCDate();
  at.setUTCDate(Math.min(day, length));
  return at.getTime();
}
