import fc from "fast-check";
import { expect, test } from "vitest";
import { nextAfter, nextRunAfter, previousBefore, previousRunBefore } from "../../lib/cadence/cadence.ts";
import type { Cadence } from "../../lib/cadence/cadence-kinds.ts";
import { withZones, zoneNamed } from "../../lib/cadence/zone/zone-spans.ts";
import { countedSteps } from "../support/counted-steps.ts";
import { arbitraryCase, calendared, cron } from "./arbitrary-calendared.ts";
import { rulesOf } from "./arbitrary-rules.ts";

const DAY = 86_400_000;

test("an occurrence years ahead or back, or none at all, is searched for once and then remembered", async () => {
  const counted = await countedSteps(new URL("far-steps.ts", import.meta.url));
  const again = counted.filter(({ name }) => name === "again").map(({ steps }) => steps);
  expect(again).toHaveLength(8);
  expect(Math.max(...again), JSON.stringify(counted)).toBeLessThan(100);
});

test("a remembered occurrence is the one that a search would find, from every instant", () => {
  const yearly = fc.constantFrom("0 9 29 2 *", "30 2 28 3 *", "0 0 1 1 *", "15 12 24-26 12 *");
  const on = fc.constantFrom("skip" as const, "next" as const, "previous" as const);
  const closed = fc.constantFrom("12-20..01-06", "02-01..04-30", "02-27..03-30");
  const later = fc.array(fc.integer({ min: -2 * DAY, max: 800 * DAY }), { minLength: 2, maxLength: 6 });
  fc.assert(
    fc.property(
      fc.record({ arbitrary: arbitraryCase(on), expression: yearly, on, closed, later }),
      ({ arbitrary, expression, on: how, closed: dates, later: steps }) => {
        const { at } = arbitrary;
        const rare = () =>
          calendared(cron(expression, "Europe/Berlin"), how, rulesOf({ dates: [dates] }), "Europe/Berlin");
        // Another object of rules has no remembered occurrences.
        const afresh = (cadence: Cadence): Cadence => structuredClone(cadence);
        for (const cadence of [arbitrary.cadence, rare()]) {
          for (const step of [0, ...steps]) {
            expect(nextAfter(cadence, at + step)).toBe(nextAfter(afresh(cadence), at + step));
            expect(nextRunAfter(cadence, at + step)).toBe(nextRunAfter(afresh(cadence), at + step));
            expect(previousBefore(cadence, at + step)).toBe(previousBefore(afresh(cadence), at + step));
            expect(previousRunBefore(cadence, at + step)).toBe(previousRunBefore(afresh(cadence), at + step));
          }
        }
      },
    ),
    { numRuns: 100 },
  );
});

test("an occurrence remembered under a zone's own rules is not used under other rules", () => {
  const cadence = calendared(
    cron("0 9 29 2 *", "Europe/Berlin"),
    "next",
    rulesOf({ dates: ["01-01"] }),
    "Europe/Berlin",
  );
  const now = Date.parse("2025-03-02T10:00:00Z");
  const own = nextAfter(cadence, now);
  const other = withZones(
    (name) => (name === "Europe/Berlin" ? zoneNamed("Asia/Tokyo") : null),
    () => nextAfter(cadence, now),
  );
  expect([own, other]).toEqual([Date.parse("2028-02-29T08:00:00Z"), Date.parse("2028-02-29T00:00:00Z")]);
});
