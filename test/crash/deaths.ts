import { describe, expect, test } from "vitest";
import type { TestDatabase } from "../support/database.ts";
import { someMoments, triesAllMoments } from "../support/some-moments.ts";
import type { Moment, Operation } from "./fuse.ts";
import type { Scenario } from "./steps.ts";
import { type CrashWorld, crashDatabase, crashWorld, shard } from "./world.ts";

const atOnce = 4;

/** Plays the scenario without a death, to count the operations with an external effect. */
async function operationsOf(scenario: Scenario, database: TestDatabase): Promise<Operation[]> {
  const world = await crashWorld(database);
  await play(scenario, world);
  const operations = operationsUnder(world, 0);
  expect(await endOf(world, [])).toEqual([]);
  return operations;
}

export async function play(scenario: Scenario, world: CrashWorld): Promise<void> {
  await scenario.prepare(world);
  await world.light();
  await scenario.act(world);
}

/** The operations counted so far under the nth fuse. */
export function operationsUnder({ fuses }: CrashWorld, nth: number): Operation[] {
  return [...(fuses[nth]?.operations ?? [])];
}

/**
 * The moments just before each operation, and just after each that has a lasting effect: inside a
 * transaction, before the next and after this are the same.
 */
export function momentsOf(operations: readonly Operation[]): Moment[] {
  const ofOthers = new RegExp(`of shard (?!${shard}$)`);
  return operations
    .filter(({ label }) => !ofOthers.test(label))
    .flatMap((operation): Moment[] => [
      { ...operation, side: "before" },
      ...(operation.lasts ? [{ ...operation, side: "after" } as const] : []),
    ]);
}

/** A parcel is committed, and its message is not sent. */
export function isUnsent({ label, side }: Moment): boolean {
  return side === "before" && label.endsWith(": send");
}

async function dieAt(scenario: Scenario, database: TestDatabase, moment: Moment): Promise<string[]> {
  const world = await crashWorld(database, [moment]);
  await play(scenario, world);
  return endOf(world, [moment], scenario.mayRepeat);
}

/** Heals the world and closes it. Returns the broken rules, at once and after healing. */
export async function endOf(
  world: CrashWorld,
  deaths: readonly Moment[],
  mayRepeat: (moment: Moment) => boolean = () => false,
): Promise<string[]> {
  if (deaths.some((_, index) => world.fuses[index]?.isBlown() !== true)) return ["the moment never came"];
  const broken = (await world.brokenNow()).map((each) => `at once: ${each}`);
  if ((await world.heal()) === null) broken.push("not healed");
  broken.push(
    ...(await world.verdict(deaths.some((moment) => isBetweenEffectAndSettle(moment) || mayRepeat(moment)))),
  );
  await world.close();
  return broken;
}

/**
 * Whether the process dies after the target accepted a job and before the job is settled, so that
 * the effect may repeat. Attaching the day of a recheck lies between the two. Effects in a
 * handler's own transaction never repeat, and are judged separately.
 */
function isBetweenEffectAndSettle({ label, side }: Moment): boolean {
  return (
    (label.includes("deliver") && side === "after") ||
    (label.startsWith("worker") && label.includes("attach_missing_days")) ||
    (label.includes("settle_parcel") && side === "before")
  );
}

export const nameOfMoment = ({ side, label, nth }: Moment) => `${side} ${label} (${nth})`;

/** Runs `act` on all items, a few at a time; returns the broken rules with the item's name. */
export async function tryEach<Item>(
  items: readonly Item[],
  nameOf: (item: Item) => string,
  act: (item: Item) => Promise<string[]>,
): Promise<string[]> {
  const broken: string[] = [];
  const waiting = items.values();
  const lane = async () => {
    for (const item of waiting) broken.push(...(await act(item)).map((each) => `${nameOf(item)}: ${each}`));
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  return broken;
}

/**
 * Plays each scenario once for each of its moments. Each test file plays its scenarios in order,
 * and several files run in parallel.
 */
export function playDeaths(scenarios: readonly Scenario[]): void {
  describe.each(scenarios)("$name", (scenario) => {
    test(
      "every expected job runs and settles once, whichever operation a process dies at",
      async () => {
        const database = await crashDatabase();
        const all = momentsOf(await operationsOf(scenario, database));
        const { tried, told } = someMoments(all, scenario.oneOf, scenario.isDecisive ?? isUnsent);
        expect(tried.length, told).toBeGreaterThan(0);
        expect(
          await tryEach(tried, nameOfMoment, (moment) => dieAt(scenario, database, moment)),
          told,
        ).toEqual([]);
        await database.drop();
      },
      triesAllMoments ? 1_800_000 : 120_000,
    );
  });
}
