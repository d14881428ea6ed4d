import { describe, expect, test } from "vitest";
import { type Dice, diceOf, seeded } from "../race/seeded.ts";
import type { TestDatabase } from "../support/database.ts";
import { seedOfRun } from "../support/seed.ts";
import { someMoments, triesAllMoments } from "../support/some-moments.ts";
import { endOf, isUnsent, momentsOf, nameOfMoment, operationsUnder, play, tryEach } from "./deaths.ts";
import type { Moment, Operation } from "./fuse.ts";
import { minute, type Scenario } from "./steps.ts";
import { type CrashWorld, crashDatabase, crashWorld } from "./world.ts";

/** A scenario in which a process of a kind dies, and then the next one of the kind. */
export interface PairScenario extends Scenario {
  kind: "tick" | "worker";
  /**
   * With CARILLON_CRASH=all, one of this many first moments is tried: each costs four plays or
   * more.
   */
  oneOfAll: number;
}

interface Pair {
  first: Moment;
  second: Moment;
}

/**
 * How many moments of a second death are tried for each moment of a first one, besides the decisive
 * ones.
 */
const secondsMax = triesAllMoments ? 2 : 1;

/**
 * A pair of decisive moments leaves a message unsent by both processes. The normal run tries only
 * the first message of each process, since a tick has a dozen.
 */
const isDecisive = (moment: Moment) => isUnsent(moment) && (triesAllMoments || moment.nth === 1);

/** A tick sends the parcels of a dead worker again after a lease of half a minute. */
async function nextOf({ kind }: PairScenario, world: CrashWorld): Promise<void> {
  await world.clock.advance(minute);
  await world.tick();
  if (kind === "worker") await world.work();
}

const ofKind = ({ kind }: PairScenario, operations: readonly Operation[]) =>
  momentsOf(operations.filter(({ label }) => label.startsWith(`${kind}: `)));

async function firstsOf(scenario: PairScenario, database: TestDatabase): Promise<Moment[]> {
  const world = await crashWorld(database);
  await play(scenario, world);
  const firsts = ofKind(scenario, operationsUnder(world, 0));
  await world.close();
  return firsts;
}

/**
 * The second process's operations depend on where the first died, so each first moment is played to
 * find them.
 */
async function secondsOf(scenario: PairScenario, database: TestDatabase, first: Moment): Promise<Moment[]> {
  const world = await crashWorld(database, [first, undefined]);
  await play(scenario, world);
  await nextOf(scenario, world);
  const seconds = ofKind(scenario, operationsUnder(world, 1));
  await world.close();
  return seconds;
}

async function dieTwice(
  scenario: PairScenario,
  database: TestDatabase,
  { first, second }: Pair,
): Promise<string[]> {
  const world = await crashWorld(database, [first, second]);
  await play(scenario, world);
  await nextOf(scenario, world);
  return endOf(world, [first, second]);
}

/** The decisive second moments after a decisive first one, and some of the others. */
function someOf(seconds: readonly Moment[], first: Moment, dice: Dice): Moment[] {
  const decisive = isDecisive(first) ? seconds.filter(isDecisive) : [];
  const others = seconds.filter((moment) => !decisive.includes(moment));
  const picked = new Set<Moment>();
  while (picked.size < Math.min(secondsMax, others.length)) picked.add(dice.pick(others));
  return [...decisive, ...picked];
}

/**
 * Plays each scenario with pairs of deaths. There are too many pairs to try all, so the seed of the
 * run picks some.
 */
export function playPairs(scenarios: readonly PairScenario[]): void {
  describe.each(scenarios)("$name", (scenario) => {
    test(
      `every expected job runs and settles once, whichever operations a ${scenario.kind} and then the next ${scenario.kind} die at`,
      async () => {
        const database = await crashDatabase();
        const all = await firstsOf(scenario, database);
        const firsts = someMoments(all, scenario.oneOf, isDecisive, scenario.oneOfAll);
        const seconds = new Map<Moment, Moment[]>();
        const broken = await tryEach(firsts.tried, nameOfMoment, async (first) => {
          seconds.set(first, await secondsOf(scenario, database, first));
          return [];
        });
        const dice = diceOf(seeded(seedOfRun));
        const pairs = firsts.tried.flatMap((first) =>
          someOf(seconds.get(first) ?? [], first, dice).map((second): Pair => ({ first, second })),
        );
        const told = `${firsts.told}, and ${pairs.length} pairs`;
        expect(pairs.length, told).toBeGreaterThan(0);
        broken.push(
          ...(await tryEach(
            pairs,
            ({ first, second }) => `${nameOfMoment(first)}, then ${nameOfMoment(second)}`,
            (pair) => dieTwice(scenario, database, pair),
          )),
        );
        expect(broken, told).toEqual([]);
        await database.drop();
      },
      triesAllMoments ? 1_800_000 : 120_000,
    );
  });
}
