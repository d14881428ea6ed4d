import { describe, expect, test } from "vitest";
import type { TestDatabase } from "../support/database.ts";
import { someMoments, triesAllMoments } from "../support/some-moments.ts";
import type { Fuse, Moment } from "./fuse.ts";
import type { Scenario } from "./scenarios.ts";
import { crashDatabase, crashWorld, shard } from "./world.ts";

const atOnce = 4;

/** Once without a death, to count what is done to the world outside. */
async function operationsOf(scenario: Scenario, database: TestDatabase): Promise<Fuse["operations"]> {
  const world = await crashWorld(database);
  await scenario.prepare(world);
  await world.light();
  await scenario.act(world);
  const operations = [...world.fuse.operations];
  expect(await world.heal(), "healing without a death").not.toBeNull();
  expect(await world.verdict(false)).toEqual([]);
  await world.close();
  return operations;
}

/** Just before each operation, and just after each that lasts by itself: inside a transaction the two are one. */
function momentsOf(operations: Fuse["operations"]): Moment[] {
  const ofOthers = new RegExp(`of shard (?!${shard}$)`);
  return operations
    .filter(({ label }) => !ofOthers.test(label))
    .flatMap((operation): Moment[] => [
      { ...operation, side: "before" },
      ...(operation.lasts ? [{ ...operation, side: "after" } as const] : []),
    ]);
}

/** Something is committed, and its message is not sent: these are tried each time. */
function isDecisive({ label, side }: Moment): boolean {
  return side === "before" && label.endsWith(": send");
}

async function dieAt(scenario: Scenario, database: TestDatabase, moment: Moment): Promise<string[]> {
  const world = await crashWorld(database, moment);
  await scenario.prepare(world);
  await world.light();
  await scenario.act(world);
  if (!world.fuse.isBlown()) return ["the moment never came"];
  const healed = await world.heal();
  const { label, side } = moment;
  // The day of a recheck is made between the two; effects of a handler's own transaction are judged apart, and never repeat.
  const betweenEffectAndSettle =
    (label.includes("deliver") && side === "after") ||
    (label.startsWith("worker") && label.includes("attach_missing_days")) ||
    (label.includes("settle_parcel") && side === "before");
  const violations = await world.verdict(betweenEffectAndSettle);
  await world.close();
  return healed === null ? ["not healed", ...violations] : violations;
}

/** Plays each scenario once for each of its moments, in the file that calls it: in several files they are played side by side. */
export function playDeaths(scenarios: readonly Scenario[]): void {
  describe.each(scenarios)("$name", (scenario) => {
    test(
      "whatever operation a process dies at, every owed job runs and settles once",
      async () => {
        const database = await crashDatabase();
        const all = momentsOf(await operationsOf(scenario, database));
        const { tried, told } = someMoments(all, scenario.oneOf, isDecisive);
        expect(tried.length, told).toBeGreaterThan(0);
        const broken: string[] = [];
        const waiting = tried.values();
        const lane = async () => {
          for (const moment of waiting) {
            const found = await dieAt(scenario, database, moment);
            broken.push(...found.map((each) => `${moment.side} ${moment.label} (${moment.nth}): ${each}`));
          }
        };
        await Promise.all(Array.from({ length: atOnce }, lane));
        expect(broken, told).toEqual([]);
        await database.drop();
      },
      triesAllMoments ? 900_000 : 120_000,
    );
  });
}
