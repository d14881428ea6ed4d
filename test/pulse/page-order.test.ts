import { afterEach, beforeEach, expect, test } from "vitest";
import { readPulses } from "../../lib/pulse/read-pulses.ts";
import { at } from "../support/instants.ts";
import { type BeatWorld, beatWorld } from "./beat-world.ts";

let world: BeatWorld;

beforeEach(async () => {
  world = await beatWorld();
  // With few pulses in most shards, the planner expects few in each, and groups by a hash where it can.
  await world.store(Array.from({ length: 15 }, (_, n) => ({ id: n + 1, every: 600, offset: 300 })));
});

afterEach(() => world.stop());

/** The ids of the schedules in the order of the pages, as a worker reads them. */
async function readAll(): Promise<{ ids: string[]; pages: number }> {
  const second = at(0).getTime() / 1_000 + 60;
  const ids: string[] = [];
  let place: { every: number; schedule: string } | null = null;
  for (let pages = 1; pages <= 50; pages++) {
    const { pulses, next } = await readPulses(
      world.sql,
      { shard: 0, second, targets: null, teams: null },
      place,
      at(0),
    );
    ids.push(...pulses.flatMap(({ envelopes }) => envelopes).map((text) => String(JSON.parse(text).id)));
    if (next === null) return { ids, pages };
    place = next;
  }
  throw new Error("The pages have no end.");
}

test.each([{ intervals: [20, 10, 30] }, { intervals: [60, 30, 20, 15, 12, 10, 6, 5, 4, 3, 2, 1] }])(
  "Each pulse of a second is read once, whatever its interval and the planner's estimates: $intervals",
  async ({ intervals }) => {
    // A page has at most two million bytes, so that the first one ends within an interval.
    const text = "x".repeat(15_000);
    for (const [n, every] of intervals.entries())
      await world.storeMany(n === 0 ? 200 : 20, { every, offset: 0, first: 1 + n * 1_000, text });
    for (const estimates of ["none", "measured"]) {
      if (estimates === "measured") await world.sql`analyze carillon.pulses`;
      const { ids, pages } = await readAll();
      expect(pages).toBeGreaterThan(1);
      expect(ids).toHaveLength(200 + 20 * (intervals.length - 1));
      expect(new Set(ids).size).toBe(ids.length);
    }
  },
);
