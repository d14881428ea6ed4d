import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { nextAfter } from "../../lib/cadence/cadence.ts";
import type { Cadence } from "../../lib/cadence/cadence-kinds.ts";
import { mostWithin } from "../../lib/cadence/most-within.ts";
import { countedSteps } from "../support/counted-steps.ts";
import { arbitraryMember, cron } from "./arbitrary-cadence.ts";
import { calendared } from "./arbitrary-calendared.ts";
import { arbitraryCron, arbitrarySecondCron } from "./arbitrary-cron.ts";
import { arbitraryRulesAround } from "./arbitrary-rules.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Changes by half an hour, an hour and two hours, forward and back, and zones without a change. */
const changes = [
  ["Australia/Lord_Howe", "2026-10-03T15:30:00Z"],
  ["Australia/Lord_Howe", "2027-04-03T15:00:00Z"],
  ["Antarctica/Troll", "2026-03-29T01:00:00Z"],
  ["Antarctica/Troll", "2026-10-25T01:00:00Z"],
  ["Europe/Berlin", "2027-03-28T01:00:00Z"],
  ["Europe/Berlin", "2026-10-25T01:00:00Z"],
  ["America/Santiago", "2026-09-06T04:00:00Z"],
  ["America/Santiago", "2026-04-05T03:00:00Z"],
  ["Asia/Kathmandu", "2026-07-01T00:00:00Z"],
  ["UTC", "2026-07-01T00:00:00Z"],
] as const;

/**
 * The largest number of occurrences in any window of a length, found by stepping through the six
 * days around an instant.
 */
function mostFound(cadence: Cadence, around: number, length: number): number {
  const found: number[] = [];
  let first = 0;
  let most = 0;
  const upTo = around + 4 * DAY;
  let at = nextAfter(cadence, around - 2 * DAY);
  while (at !== null && at <= upTo && found.length < 3_000) {
    found.push(at);
    while (at - (found[first] ?? at) > length) first += 1;
    most = Math.max(most, found.length - first);
    at = nextAfter(cadence, at);
  }
  return most;
}

const arbitraryLength = fc.oneof(
  fc.integer({ min: 0, max: DAY / 1_000 }).map((seconds) => seconds * 1_000),
  fc.constantFrom(MINUTE, 10 * MINUTE, HOUR, 12 * HOUR, DAY),
);

const arbitraryPlace = fc
  .constantFrom(...changes)
  .map(([timezone, at]) => ({ timezone, at: Date.parse(at) }));

/** Cadences of every kind that a calendar moves. */
function arbitraryInner(timezone: string, at: number): fc.Arbitrary<Cadence> {
  return fc.oneof(
    arbitraryMember(timezone, at),
    arbitrarySecondCron().map((expression) => cron(expression, timezone)),
    fc
      .record({ everyMs: fc.integer({ min: 60, max: 90_000 }), back: fc.integer({ min: 0, max: 90_000 }) })
      .map(
        ({ everyMs, back }): Cadence => ({
          kind: "interval",
          everyMs: everyMs * 1_000,
          firstAt: at - 40 * DAY - back * 1_000,
        }),
      ),
  );
}

describe("the largest number of occurrences in a window of a length", () => {
  test("the bound of occurrences in a window is never too low, for every cadence, zone and clock change", () => {
    fc.assert(
      fc.property(
        arbitraryPlace.chain(({ timezone, at }) =>
          fc.record({
            at: fc.constant(at),
            of: fc.array(arbitraryInner(timezone, at), { minLength: 1, maxLength: 2 }),
            length: arbitraryLength,
          }),
        ),
        ({ at, of, length }) => {
          const [only, other] = of;
          const cadence: Cadence = other === undefined && only ? only : { kind: "union", of };
          expect(mostFound(cadence, at, length)).toBeLessThanOrEqual(mostWithin(cadence, length));
        },
      ),
      { numRuns: 400 },
    );
  });

  test("the bound of occurrences in a window is never too low if a calendar moves several days to one", () => {
    fc.assert(
      fc.property(
        arbitraryPlace.chain(({ timezone, at }) =>
          fc.record({
            at: fc.constant(at),
            timezone: fc.constantFrom(timezone, timezone, "Asia/Tokyo"),
            of: arbitraryInner(timezone, at),
            on: fc.constantFrom("skip" as const, "next" as const, "previous" as const),
            rules: arbitraryRulesAround(Math.floor(at / DAY)),
            length: arbitraryLength,
          }),
        ),
        ({ at, timezone, of, on, rules, length }) => {
          const cadence = calendared(of, on, rules, timezone);
          expect(mostFound(cadence, at, length)).toBeLessThanOrEqual(mostWithin(cadence, length));
        },
      ),
      { numRuns: 300 },
    );
  });

  test("the bound of occurrences in a window is exact for a cron of whole minutes that runs every day in UTC, and for an interval", () => {
    fc.assert(
      fc.property(arbitraryCron(), arbitraryLength, (expression, length) => {
        const [minute, hour] = expression.split(" ");
        const daily = cron(`${minute} ${hour} * * *`, "UTC");
        expect(mostWithin(daily, length)).toBe(wholeDays(daily, length));
      }),
      { numRuns: 100 },
    );
    const sevens: Cadence = { kind: "interval", everyMs: 7 * MINUTE, firstAt: 0 };
    expect(mostWithin(sevens, DAY)).toBe(wholeDays(sevens, DAY));
  });

  test.each([
    ["0 9 * * *", "Europe/Berlin", 10 * MINUTE, 4],
    ["* * * * *", "Europe/Berlin", 12 * HOUR, 724],
    ["* * * * * *", "UTC", HOUR, 3_601],
    ["0-20 0 * * * *", "UTC", DAY, 525],
    ["* * 1 * *", "Australia/Lord_Howe", 16 * HOUR, 964],
  ])(
    "the bound of occurrences in a window is close to the real number for `%s` in %s",
    (expression, timezone, length, most) => {
      expect(mostWithin(cron(expression, timezone), length)).toBe(most);
    },
  );

  test("the bound of occurrences counts no more time than the cadence's own window", () => {
    const of: Cadence = { kind: "interval", everyMs: MINUTE, firstAt: 0 };
    expect(mostWithin({ kind: "window", of, startsAt: 0, endsAt: HOUR }, DAY)).toBe(61);
    expect(mostWithin({ kind: "window", of, startsAt: 0, endsAt: null }, DAY)).toBe(1_441);
  });
});

function wholeDays(cadence: Cadence, length: number): number {
  return mostFound(cadence, Date.parse("2026-07-03T00:00:00Z"), length);
}

test("The check of a spread takes steps for the times of day of its cadence, not for the minutes of a day", async () => {
  const counted = await countedSteps(new URL("most-steps.ts", import.meta.url));
  const again = counted.filter(({ name }) => name === "again").map(({ steps }) => steps);
  expect(again).toHaveLength(2);
  expect(Math.max(...again), JSON.stringify(counted)).toBeLessThan(1_000);
});
