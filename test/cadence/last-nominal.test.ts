import fc from "fast-check";
import { expect, test } from "vitest";
import { nextAfter, previousBefore } from "../../lib/cadence/cadence.ts";
import { lastNominalOf, moveDaysMax, movedTo, nominalOf } from "../../lib/cadence/calendared.ts";
import { arbitraryCase } from "./arbitrary-calendared.ts";

const inner = { nextAfter, previousBefore };
const reach = (moveDaysMax + 2) * 86_400_000;

test("the last of the occurrences that a calendar moves to one run is found, in every zone and around its clock changes", () => {
  fc.assert(
    fc.property(arbitraryCase(fc.constantFrom("next", "previous")), ({ cadence, at }) => {
      const run = nextAfter(cadence, at);
      fc.pre(run !== null);
      const last = lastNominalOf(cadence, run, inner);
      if (last === null) throw new Error("The run has no nominal instant.");
      expect(movedTo(cadence, last)).toBe(run);
      expect(Math.max(...nominalOf(cadence, run, inner))).toBeLessThanOrEqual(last);
      for (let later = nextAfter(cadence.of, last); later !== null && later <= run + reach; ) {
        expect(movedTo(cadence, later)).not.toBe(run);
        later = nextAfter(cadence.of, later);
      }
    }),
    { numRuns: 100 },
  );
});

test("an instant that is no run has no nominal instant", () => {
  fc.assert(
    fc.property(arbitraryCase(fc.constantFrom("next", "previous")), ({ cadence, at }) => {
      fc.pre(nextAfter(cadence, at - 1) !== at);
      expect(lastNominalOf(cadence, at, inner)).toBeNull();
    }),
  );
});
