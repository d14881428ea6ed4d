import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readStats } from "../../lib/stats/stats.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";

let world: Carillon;

beforeAll(async () => {
  world = await carillon();
});

afterAll(() => world.stop());

async function counted(): Promise<{ total: number; active: number; paused: number }> {
  const [row] = await world.sql<{ total: number; paused: number }[]>`
    select count(*)::int as total, count(held_since)::int as paused from carillon.schedules where deleted_at is null`;
  const { total = 0, paused = 0 } = row ?? {};
  return { total, active: total - paused, paused };
}

const edits: Record<string, (key: string) => Promise<unknown>> = {
  put: (key) => world.put(key, { when: "every 1h" }),
  putPaused: (key) => world.put(key, { when: "every 2h", paused: true }),
  putThatGoes: (key) => world.put(key, { when: "in 1m", deleteOnEnd: true }),
  patch: (key) => world.patch(key, { payload: 1 }),
  pause: (key) => world.pause(key),
  pauseForAMinute: (key) => world.pause(key, { until: new Date(world.clock.now().getTime() + minute) }),
  resume: (key) => world.resume(key),
  remove: (key) => world.remove(key),
  tick: () => world.tick(),
  pass: () => world.clock.advance(2 * minute).then(() => world.tick()),
  work: () => world.work(),
};

test("The counts of schedules equal a count of the rows after any edits, rolled up or not", async () => {
  const step = fc.tuple(fc.constantFrom(...Object.keys(edits)), fc.constantFrom("a", "b", "c", "d"));
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 15 }), async (steps) => {
      for (const [edit, key] of steps) {
        // A missing key refuses most edits, which then count nothing.
        await edits[edit]?.(key).catch(() => {});
        expect((await readStats(world.sql)).schedules).toEqual(await counted());
      }
    }),
    { numRuns: 12 },
  );
  expect((await counted()).total).toBeGreaterThan(0);
});

test("One statement that edits many schedules writes one row of counts", async () => {
  await world.tick();
  await world.sql`
    insert into carillon.schedules (shard, queue, key, target_kind, created_at, created_by, updated_at, updated_by)
    select 0, 'fast', 'bulk-' || i, 'queue', carillon.clock(), 'test', carillon.clock(), 'test' from generate_series(1, 500) i`;
  expect(await world.sql`select schedules, held from carillon.schedule_tallies`).toEqual([
    { schedules: 500, held: 0 },
  ]);
  expect((await readStats(world.sql)).schedules).toEqual(await counted());
});
