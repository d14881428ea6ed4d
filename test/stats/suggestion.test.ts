import { expect, test } from "vitest";
import { ruleNames, suggestionOf } from "../../lib/stats/heaviest.ts";
import { at, minute } from "../support/instants.ts";

/** The sentence on a time whose heaviest minute has 814 runs. */
function sentence(peaks: Readonly<Record<string, number>>, isExact = true): string {
  const line = [814, 2].map((fires, place) => ({
    at: at(place * minute).getTime(),
    fires,
    together: fires,
    shares: new Map<string, number>(),
    names: new Map<string, number>(),
  }));
  const withSpread = Object.entries(peaks).map(([spread, peak]) => ({ spread, peak }));
  return suggestionOf(line, withSpread, { names: ruleNames([]), isExact }).text;
}

test("The shortest spread that leaves at most a fifth more than the best is recommended, and each effect is said", () => {
  expect(sentence({ "5m": 170, "15m": 60, "1h": 55 })).toBe(
    "The heaviest minute has 814 runs, an average minute 408. A spread of 15m on schedules that run together would lower it to 60. With 5m it would be 170, with 1h 55.",
  );
  expect(sentence({ "5m": 66, "15m": 60, "1h": 55 })).toContain("A spread of 5m on");
  expect(sentence({ "5m": 170, "15m": 60, "1h": 20 })).toContain("A spread of 1h on");
  expect(sentence({ "5m": 170 })).toMatch(
    /A spread of 5m on schedules that run together would lower it to 170\.$/,
  );
});

test("A spread that saves less than a fifth of the heaviest minute is not recommended", () => {
  expect(sentence({ "5m": 800, "15m": 790 })).toContain(
    "A spread would change little: with 15m it would still have 790.",
  );
  expect(sentence({ "5m": 814, "15m": 814 })).toContain("No spread would flatten it.");
});

test("The numbers of an estimate say so", () => {
  expect(sentence({ "5m": 170, "15m": 60 }, false)).toBe(
    "The heaviest minute has about 814 runs, an average minute about 408. A spread of 15m on schedules that run together would lower it to about 60. With 5m it would be about 170.",
  );
});
