import { afterEach, beforeEach, expect, test } from "vitest";
import { countEnded } from "../../lib/stats/ended.ts";
import { readPrefixStats } from "../../lib/stats/prefix-stats.ts";
import { sampleSchedules } from "../../lib/stats/sampled-schedules.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon({ roles: functionRoles });
  await world.tick();
});

afterEach(() => world.stop());

/** One-time schedules, every `nth` of which is past and has its job settled. */
async function fill(count: number, nth: number): Promise<void> {
  await world.sql`
    with made as (
      insert into carillon.schedules (shard, queue, key, target_kind, created_at, created_by, updated_at, updated_by)
      select i % 16, 'fast', 'many-' || i, 'queue', carillon.clock(), 'test', carillon.clock(), 'test' from generate_series(1, ${count}::int) i returning id
    )
    insert into carillon.schedule_versions (schedule_id, version, change, changed_at, changed_by, spec_version, held, once_at, body, target)
    select id, 1, 'created', carillon.clock(), 'test', 1, false,
      carillon.clock() + case when id % ${nth}::int = 0 then interval '-1 minute' else interval '1 hour' end, '{"when":"x"}', '{"queue":"q"}' from made`;
}

test("A schedule counts as ended once its last job is settled, and no longer when it is put again", async () => {
  await world.put("once", { when: "in 1m" });
  expect(await countEnded(world.sql)).toEqual({ count: 0, within: 0 });
  await world.clock.advance(minute);
  await world.tick();
  expect(await countEnded(world.sql)).toEqual({ count: 0, within: 0 });
  await world.work();
  expect(await countEnded(world.sql)).toEqual({ count: 1, within: 0 });
  await world.put("once", { when: "in 1h" });
  expect(await countEnded(world.sql)).toEqual({ count: 0, within: 0 });
});

test("The estimate of ended schedules among very many is within its bound", async () => {
  await fill(20_000, 4);
  const { count, within } = await countEnded(world.sql);
  expect(within).toBeGreaterThan(0);
  expect(within).toBeLessThan(1_000);
  expect(Math.abs(count - 5_000)).toBeLessThanOrEqual(within);
});

test("Ended schedules of a prefix are counted exactly up to 1,000 schedules, and estimated within the bound beyond", async () => {
  await fill(20_000, 4);
  await world.put("one:a", { when: "in 1m" });
  await world.put("one:b", { when: "in 1h" });
  await world.clock.advance(minute);
  await world.tick();
  await world.work();
  expect((await readPrefixStats(world.as.api, "one:")).schedules).toEqual({
    total: 2,
    active: 1,
    paused: 0,
    ended: 1,
    endedWithin: 0,
    more: false,
  });
  const { total, active, ended, endedWithin } = (await readPrefixStats(world.as.api, "many-")).schedules;
  expect({ total, active }).toEqual({ total: 20_000, active: 20_000 - ended });
  expect(endedWithin).toBeGreaterThan(0);
  expect(endedWithin).toBeLessThan(1_000);
  expect(Math.abs(ended - 5_000)).toBeLessThanOrEqual(endedWithin);
});

test("An estimate stays the same while nothing changes", async () => {
  await fill(5_000, 4);
  expect(await countEnded(world.sql)).toEqual(await countEnded(world.sql));
});

test("A sample stands for all live schedules, also where many ids are free", async () => {
  await fill(6_000, 2);
  await world.sql`update carillon.schedules set deleted_at = carillon.clock() where id % 3 <> 0`;
  const { ids, weight } = await sampleSchedules(world.sql, 500);
  expect(ids.length).toBeGreaterThan(100);
  expect(ids.length * weight).toBeCloseTo(2_000, 0);
});
