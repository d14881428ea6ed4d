import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readLastRuns } from "../../lib/agenda/last-runs.ts";
import { readStrip, type StripItem } from "../../lib/agenda/strip.ts";
import { connect } from "../../lib/db/connect.ts";
import { explain } from "../../lib/explain/explain.ts";
import { fireNow } from "../../lib/job-control/fire-now.ts";
import { live } from "../explain/life.ts";
import { diceOf, seeded } from "../race/seeded.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, hour, minute } from "../support/instants.ts";
import { countRoundTrips } from "../support/round-trips.ts";

async function stripOf(world: Carillon, key: string, [from, to]: readonly [number, number], limit: number) {
  const items: StripItem[] = [];
  let window = { from: at(from).getTime(), to: at(to).getTime() };
  for (let page = 0; page < 500; page++) {
    const strip = await readStrip(world.sql, { key, window, limit });
    expect(strip.items.length).toBeLessThanOrEqual(limit);
    items.push(...strip.items);
    if (strip.next === undefined) return { ...strip, items };
    expect(strip.next).toBeGreaterThan(window.from);
    window = { ...window, from: strip.next };
  }
  throw new Error("The strip does not end.");
}

describe.each([4, 5])("in a random history (seed %i)", (seed) => {
  let world: Carillon;

  beforeAll(async () => {
    world = await carillon();
    await world.tick();
    await live(world, diceOf(seeded(seed)));
    await fireNow({ sql: world.sql, queue: world.queue }, { key: "k", caller: { name: "ann" } });
  });

  afterAll(() => world.stop());

  test("A strip says of each occurrence what its explanation says, on pages of any size", async () => {
    const { items } = await stripOf(world, "k", [0, 8 * hour], 7);
    expect(items.length).toBeGreaterThan(20);
    const whole = await stripOf(world, "k", [0, 8 * hour], 100);
    expect(whole.items.map(({ at: instant }) => instant)).toEqual(items.map(({ at: instant }) => instant));
    for (const item of items) {
      const { outcome, sentence, dueAt, job, beside } = await explain(world.sql, { key: "k", at: item.at });
      // A job that was fired by hand has the outcome of its state in a strip.
      const state = beside[0]?.state === "succeeded" ? "ran" : beside[0]?.state;
      expect({ at: item.at, outcome: item.outcome, sentence: item.sentence, dueAt: item.dueAt }).toEqual({
        at: item.at,
        outcome: outcome === "fired" ? state : outcome,
        sentence,
        dueAt,
      });
      expect(item.job?.id).toBe(job?.id);
    }
  });

  test("A strip has every job of the schedule in its window", async () => {
    const { items } = await stripOf(world, "k", [0, 8 * hour], 50);
    const instants = new Set(items.map((item) => item.at.getTime()));
    const missing = (await world.jobs("k")).filter(({ occurrence }) => !instants.has(occurrence.getTime()));
    expect(missing).toEqual([]);
  });

  test("The last runs of a key have the outcomes of its strip", async () => {
    const now = world.clock.now().getTime() - at(0).getTime();
    const { items } = await stripOf(world, "k", [0, now + 1], 100);
    const { items: found } = await readLastRuns(world.sql, { keys: ["k", "none"], most: 15 });
    expect(found[1]).toEqual({ key: "none", scheduleId: null, deleted: null, runs: [] });
    const runs = found[0]?.runs.map((run) => [run.occurrence, run.outcome]) ?? [];
    expect(runs).toHaveLength(15);
    const cadence = items.filter(({ occurrence }) => occurrence).slice(-runs.length);
    expect(runs).toEqual(cadence.map((item) => [item.at, item.outcome]));
  });
});

describe("of a deleted schedule", () => {
  let world: Carillon;

  beforeAll(async () => {
    world = await carillon();
    await world.tick();
    await world.put("gone", { when: "*/1 * * * *" });
    for (let n = 0; n < 4; n++) {
      await world.clock.advance(minute);
      await world.tick();
      await world.work();
    }
    await world.remove("gone");
  });

  afterAll(() => world.stop());

  test("A strip ends with the deletion and names the token that deleted the schedule", async () => {
    const { items, deleted } = await stripOf(world, "gone", [0, hour], 10);
    expect(items.map(({ outcome }) => outcome)).toEqual(["ran", "ran", "ran", "ran"]);
    expect(deleted).toEqual({ at: world.clock.now(), by: "ann" });
  });

  test("The last runs of a deleted key are those before its deletion", async () => {
    const { items } = await readLastRuns(world.sql, { keys: ["gone"], most: 3 });
    expect(items[0]?.deleted).toEqual({ at: world.clock.now(), by: "ann" });
    expect(items[0]?.runs.map(({ occurrence }) => occurrence)).toEqual([
      at(2 * minute),
      at(3 * minute),
      at(4 * minute),
    ]);
  });

  test("A page of a hundred occurrences takes as many round trips as a page of two", async () => {
    await world.put("many", { when: "*/1 * * * *" });
    const counting = await countRoundTrips(world.databaseUrl);
    const sql = connect({ DATABASE_URL: counting.url }, { max: 1 });
    const trips = async (limit: number) => {
      const now = world.clock.now().getTime();
      counting.taken();
      const strip = await readStrip(sql, { key: "many", window: { from: now, to: now + 4 * hour }, limit });
      expect(strip.items).toHaveLength(limit);
      return counting.taken();
    };
    await trips(1);
    expect(await trips(100)).toBe(await trips(2));
    await sql.end();
  });
});
