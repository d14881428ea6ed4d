import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "../../lib/clock.ts";
import { diceOf, seeded } from "../race/seeded.ts";
import { seedOfRun } from "../support/seed.ts";
import { abuse } from "./abuse.ts";
import { attacks } from "./attacks.ts";
import type { Report } from "./report.ts";
import { type AttackedStack, startAttacked } from "./stack-process.ts";
import { shortest } from "./volumes.ts";

let stack: AttackedStack;
let reports: Report[];

beforeAll(async () => {
  stack = await startAttacked();
  reports = await abuse({
    stack,
    attacks,
    volume: shortest,
    dice: diceOf(seeded(seedOfRun)),
    clock: systemClock,
    probesAtLeast: 4,
    attackMinutesMax: 60,
    // The machine of a test has other work.
    timed: false,
    told: () => {},
  });
}, 600_000);

afterAll(async () => {
  await stack?.stop();
}, 60_000);

describe("a short run of npm run abuse", () => {
  test.each(attacks)("the attack $name breaks no rule: $holds", ({ name }) => {
    const report = reports.find(({ attack }) => attack === name);
    expect(report?.faults).toEqual([]);
    expect(report?.requests).toBeGreaterThan(0);
    expect(report?.neighbour.requests).toBeGreaterThanOrEqual(4);
  });

  test("the attack on the rate is refused with 429, guesses with 401, and large bodies with 413", () => {
    const answersOf = (name: string) => reports.find(({ attack }) => attack === name)?.answers;
    expect(answersOf("rate")).toMatch(/429 × \d+/);
    expect(answersOf("tokens")).toBe(`401 × ${shortest.guesses}`);
    expect(answersOf("bodies")).toMatch(/413 × \d+/);
  });
});
