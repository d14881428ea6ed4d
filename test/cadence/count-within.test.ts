import fc from "fast-check";
import { expect, test } from "vitest";
import { isRun, nextAfter } from "../../lib/cadence/cadence.ts";
import type { Cadence } from "../../lib/cadence/cadence-kinds.ts";
import { countRuns } from "../../lib/cadence/count-runs.ts";
import { countWithin } from "../../lib/cadence/count-within.ts";
import { arbitraryCase } from "./arbitrary-calendared.ts";

const day = 86_400_000;
const zones = [
  "UTC",
  "Europe/Berlin",
  "America/New_York",
  "Australia/Lord_Howe",
  "Africa/Casablanca",
  "Pacific/Apia",
];
const expressions = [
  "* * * * *",
  "*/7 * * * *",
  "30 2 * * *",
  "30 1 * * *",
  "0,30 1-3 * * *",
  "15 0,2 * * 0",
  "*/20 30 2 * * *",
  "0 0 31 * *",
  "0 12 29 2 *",
  "5 4 * * 1-5",
  "0 0 1W * *",
  "0 0 L * *",
];

function walked(cadence: Cadence, after: number, upTo: number, max: number) {
  let count = 0;
  for (let at = nextAfter(cadence, after); at !== null && at <= upTo; at = nextAfter(cadence, at)) {
    if (count === max) return { count, more: true };
    count += 1;
  }
  return { count, more: false };
}

test("A cron has the count of steps through its occurrences, over clock changes and for any range", () => {
  const dst = fc.record(
    { gap: fc.constantFrom("next", "skip"), overlap: fc.constantFrom("first", "last", "both") },
    { requiredKeys: [] },
  );
  const from = Date.UTC(2025, 0, 1);
  fc.assert(
    fc.property(
      fc.record({
        expression: fc.constantFrom(...expressions),
        timezone: fc.constantFrom(...zones),
        dst,
        after: fc.integer({ min: from, max: from + 730 * day }),
        length: fc.oneof(fc.integer({ min: 0, max: 3 * day }), fc.integer({ min: 0, max: 60 * day })),
        max: fc.constantFrom(0, 1, 50, 3_000),
      }),
      ({ expression, timezone, dst: rule, after, length, max }) => {
        const cadence: Cadence = { kind: "cron", expression, timezone, dst: rule };
        expect(countWithin(cadence, after, after + length, max)).toEqual(
          walked(cadence, after, after + length, max),
        );
      },
    ),
    { numRuns: 1_500 },
  );
});

test("Occurrences that a calendar skips are counted too", () => {
  const of: Cadence = { kind: "cron", expression: "0 9 * * *", timezone: "Europe/Berlin" };
  const cadence: Cadence = {
    kind: "calendared",
    of,
    timezone: "Europe/Berlin",
    on: "skip",
    rules: { dates: [], weekly: ["sat", "sun"] },
  };
  const after = Date.UTC(2026, 0, 1);
  expect(countWithin(cadence, after, after + 30 * day)).toEqual({ count: 30, more: false });
});

test("Occurrences that run and those that a calendar leaves out are counted apart, over clock changes and in other zones", () => {
  fc.assert(
    fc.property(
      arbitraryCase(fc.constantFrom("skip", "next", "previous")),
      fc.integer({ min: 0, max: 33 * day }),
      fc.integer({ min: -20 * day, max: 0 }),
      fc.constantFrom(1, 7, 10_000),
      ({ cadence, at }, length, shift, max) => {
        const [after, upTo] = [at + shift, at + shift + length];
        const { runs, leftOut } = countRuns(cadence, after, upTo, max);
        let [run, left] = [0, 0];
        for (let next = nextAfter(cadence, after); next !== null && next <= upTo; ) {
          if (isRun(cadence, next)) run += 1;
          else left += 1;
          next = nextAfter(cadence, next);
        }
        expect(runs).toEqual({ count: Math.min(run, max), more: run > max });
        expect(leftOut).toEqual({ count: Math.min(left, max), more: left > max });
      },
    ),
  );
});

test("A year of seconds is counted without a step for each second", () => {
  const cadence: Cadence = { kind: "cron", expression: "* * * * * *", timezone: "Europe/Berlin" };
  const after = Date.UTC(2026, 0, 1) - 1;
  expect(countWithin(cadence, after, after + 365 * day, Number.MAX_SAFE_INTEGER)).toEqual({
    count: 365 * 86_400,
    more: false,
  });
});

test("A union has the count of steps through its occurrences: an instant that several members share counts once", () => {
  const from = Date.UTC(2025, 2, 1);
  const member = fc.oneof(
    fc.record({
      kind: fc.constant("cron" as const),
      expression: fc.constantFrom(...expressions),
      timezone: fc.constantFrom(...zones),
    }),
    fc.record({
      kind: fc.constant("interval" as const),
      everyMs: fc.constantFrom(60_000, 420_000, 3_600_000),
      firstAt: fc.constantFrom(from, from + 20 * day),
    }),
    fc.record({ kind: fc.constant("once" as const), at: fc.constantFrom(from + 3_600_000, from + day) }),
  );
  fc.assert(
    fc.property(
      fc.record({
        of: fc.array(member, { minLength: 1, maxLength: 4 }),
        after: fc.integer({ min: from - day, max: from + 40 * day }),
        length: fc.integer({ min: 0, max: 3 * day }),
        max: fc.constantFrom(0, 1, 50, 3_000),
      }),
      ({ of, after, length, max }) => {
        const cadence: Cadence = { kind: "union", of };
        expect(countWithin(cadence, after, after + length, max)).toEqual(
          walked(cadence, after, after + length, max),
        );
      },
    ),
    { numRuns: 60 },
  );
});
