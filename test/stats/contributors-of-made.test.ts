import { afterEach, beforeEach, expect, test } from "vitest";
import { contributors } from "../../lib/stats/contributors.ts";
import { readForecast } from "../../lib/stats/forecast.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

test.each(contributors)(
  "The fires of contributors by %s include those of jobs that are made already",
  async (by) => {
    await world.put("crm:1", { when: "every 1m", tags: ["t"] });
    await world.put("crm:2", { when: "2 * * * *", tags: ["t"] });
    await world.tick();
    const { by: named, total, heaviest } = await readForecast(world.sql, { minutes: 5, by });
    expect(heaviest[0]?.most).toEqual([expect.objectContaining({ kind: "made" })]);
    expect(named.reduce((sum, { fires }) => sum + fires, 0)).toBe(total);
    expect(heaviest[0]?.by.reduce((sum, { fires }) => sum + fires, 0)).toBe(heaviest[0]?.fires);
  },
);

test("Contributors are named if all of the forecast's jobs are made already", async () => {
  await world.put("crm:1", { when: "in 2m" });
  await world.tick();
  const { by } = await readForecast(world.sql, { minutes: 5, by: "prefix" });
  expect(by).toEqual([{ name: "crm:", fires: 1, perMinute: null }]);
});

test("Jobs of an older version, and of a deleted schedule, count for no contributor", async () => {
  await world.put("crm:1", { when: "in 2m" });
  await world.put("shop:1", { when: "in 2m" });
  await world.tick();
  await world.put("crm:1", { when: "in 4h" });
  await world.remove("shop:1");
  expect((await readForecast(world.sql, { minutes: 5, by: "prefix" })).by).toEqual([]);
});

test("Contributors of many made jobs are estimated from a sample", async () => {
  for (const key of ["few:1", "many:1", "many:2", "many:3"]) await world.put(key, { when: "every 1d" });
  const when = at(2 * minute);
  await world.sql`
    insert into carillon.parcels (ready_at, offer_at, shard, queue, occurrences, schedule_ids)
    select ${when}, ${when}, 0, 'fast', array_agg(${when}::timestamptz), array_agg(s.ids[1 + n % 4] order by n)
    from (select array_agg(id order by key) as ids from carillon.schedules) s, generate_series(1, 40000) n group by n % 7`;
  const { by, total, exact } = await readForecast(world.sql, { minutes: 5, by: "prefix" });
  expect({ total, exact }).toEqual({ total: 40_000, exact: false });
  const fires = new Map(by.map((each) => [each.name, each.fires]));
  expect(fires.get("many:")).toBeGreaterThan(27_000);
  expect(fires.get("few:")).toBeGreaterThan(8_000);
  expect(fires.get("few:")).toBeLessThan(12_000);
});
