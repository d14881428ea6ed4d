import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { seeded } from "../race/seeded.ts";
import { seedOfRun } from "../support/seed.ts";
import { type FunctionName, functionNames } from "./hosted-release.ts";
import { begin, channels, round } from "./mixed-work.ts";
import { type MixedWorld, mixedWorld, type Release } from "./mixed-world.ts";
import { hasHistory, type PreviousCode, previousCode } from "./previous-code.ts";

/**
 * The order in which functions are replaced. A function and the taker of its messages are not neighbours: the
 * one is replaced after it has sent, the other before it takes, so messages between neighbours would go one
 * way only.
 */
const order: readonly FunctionName[] = ["api", "tick", "stack", "fast", "slow", "ingest", "webhook"];

let previous: PreviousCode;
beforeAll(async () => {
  previous = await previousCode();
});
afterAll(() => previous.remove());

async function within(work: (world: MixedWorld) => Promise<void>): Promise<void> {
  const world = await mixedWorld(previous.directory);
  try {
    await work(world);
  } finally {
    await world.stop();
  }
}

/** Replaces one function in each round, while messages are under way. */
async function replaceEach(
  world: MixedWorld,
  names: readonly FunctionName[],
  release: Release,
  firstRound: number,
): Promise<void> {
  for (const [index, name] of names.entries())
    await round(world, firstRound + index, () => {
      world.releases[name] = release;
    });
}

describe.runIf(hasHistory)("functions of two releases side by side", () => {
  test("functions that are replaced one by one and put back one by one lose no job, double none and leave none dead, and each kind of message goes both ways", async () => {
    await within(async (world) => {
      await begin(world);
      await round(world, 0);
      await replaceEach(world, order, "present", 1);
      await replaceEach(world, order, "previous", 1 + order.length);
      const ways = channels.flatMap((channel) => [
        `${channel}: previous to present`,
        `${channel}: present to previous`,
      ]);
      expect([...world.ways]).toEqual(expect.arrayContaining(ways));
    });
  });

  test(`functions that are replaced in any order lose no job, double none and leave none dead (seed ${seedOfRun})`, async () => {
    await within(async (world) => {
      const random = seeded(seedOfRun);
      const places = new Map(functionNames.map((name) => [name, random()]));
      const anyOrder = functionNames.toSorted((a, b) => (places.get(a) ?? 0) - (places.get(b) ?? 0));
      await begin(world);
      await replaceEach(world, anyOrder, "present", 0);
    });
  });

  test.each<{
    what: string;
    file: string;
    text: string;
    by: string;
    taker: FunctionName;
    fault: RegExp;
  }>([
    {
      what: "the parcel's id",
      file: "lib/parcel/parcel-queue.ts",
      text: "{ v: 1, parcel: id }",
      by: "{ v: 1, id }",
      taker: "fast",
      fault: /arrivals of round 0/,
    },
    {
      what: "a request to the vault",
      file: "lib/target/vault-function.ts",
      text: 'ask({ ask: "pair" })',
      by: 'ask({ ask: "make" })',
      taker: "webhook",
      fault: /POST \/v1\/credential-keys/,
    },
    {
      what: "the name of a stack",
      file: "lib/stack/invoke-api.ts",
      text: "carillonStack: caller",
      by: "stack: caller",
      taker: "api",
      fault: /SUCCESS/,
    },
  ])(
    "a release that names $what otherwise in its messages fails beside the present one, so a break would be noticed",
    async ({ file, text, by, taker, fault }) => {
      const place = join(previous.directory, file);
      const whole = await readFile(place, "utf8");
      expect(whole).toContain(text);
      await writeFile(place, whole.replace(text, by));
      try {
        await within(async (world) => {
          world.releases[taker] = "present";
          await begin(world);
          await expect(round(world, 0)).rejects.toThrow(fault);
        });
      } finally {
        await writeFile(place, whole);
      }
    },
  );
});
