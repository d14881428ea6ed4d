import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import { readStats, type Stats } from "../../lib/stats/stats.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";

let world: Carillon;

beforeAll(async () => {
  world = await carillon();
});

afterAll(() => world.stop());

const keys = ["a", "b", "c", "d"];

async function counted(): Promise<Stats["schedules"]> {
  const [row] = await world.sql<{ total: number; paused: number }[]>`
    select count(*)::int as total,
      count(*) filter (where held_since is not null and coalesce(held_until, 'infinity') > carillon.clock())::int as paused
    from carillon.schedules where deleted_at is null`;
  const held = await world.sql<{ key: string }[]>`
    select key from carillon.schedules
    where deleted_at is null and held_since is not null and coalesce(held_until, 'infinity') > carillon.clock()`;
  const { total = 0, paused = 0 } = row ?? {};
  const reads = await Promise.all(keys.map((key) => readSchedule(world.sql, key)));
  const ended = reads.filter(
    (read) => read?.state === "ended" && !held.some(({ key }) => key === read.key),
  ).length;
  return { total, active: total - paused - ended, paused, ended, endedWithin: 0 };
}

const edits: Record<string, (key: string) => Promise<unknown>> = {
  put: (key) => world.put(key, { when: "every 1h" }),
  putPaused: (key) => world.put(key, { when: "every 2h", paused: true }),
  putOnce: (key) => world.put(key, { when: "in 1m" }),
  putOnceWithSpread: (key) => world.put(key, { when: "in 1m", spread: "5m" }),
  putOnceForHandler: (key) => world.put(key, { when: "in 1m", target: { handler: "greet" } }),
  putWithEnd: (key) => {
    const endsAt = new Date(world.clock.now().getTime() + 2 * minute).toISOString();
    return world.put(key, { when: "every 1m", endsAt });
  },
  putTwice: (key) => world.put(key, { when: "every 1m", maxFires: 2 }),
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
  const step = fc.tuple(fc.constantFrom(...Object.keys(edits)), fc.constantFrom(...keys));
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
