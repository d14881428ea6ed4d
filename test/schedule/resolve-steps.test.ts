import { expect, test } from "vitest";
import { countedSteps } from "../support/counted-steps.ts";

test("a spread is checked against the form of its cadence in few steps, without a search for occurrences", async () => {
  const counted = await countedSteps(new URL("resolve-steps.ts", import.meta.url));
  const steps = new Map(counted.map(({ name, steps: taken }) => [name, taken]));
  const added = counted.flatMap(({ name, steps: taken }) => {
    const [cadence, spread] = name.split(" ");
    return spread === "0s" ? [] : [taken - (steps.get(`${cadence} 0s`) ?? 0)];
  });
  expect(added).toHaveLength(10);
  expect(Math.max(...added), JSON.stringify(counted)).toBeLessThan(5_000);
});
