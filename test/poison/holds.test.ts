import { afterEach, beforeEach, expect, test } from "vitest";
import { clearHolds } from "../../lib/tick/housekeeping/clear-ended-holds.ts";
import { dueOnce } from "../parcel/limit-world.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";
import { mend, poison, quarantined, raised } from "./poison.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const later = { when: "in 300d" };

const idOf = async (key: string) =>
  (await world.sql<{ id: string }[]>`select id from carillon.schedules where key = ${key}`)[0]?.id ?? "";

const keysOf = async (where: string) =>
  (await world.sql.unsafe(`select key from carillon.schedules where ${where} order by key`)).map(
    ({ key }) => key,
  );

const wantHolds = () => world.sql`
  insert into carillon.wanted_holds (schedule_id, version, reason, at)
  select id, version, 'fails', carillon.clock() from carillon.schedules order by key`;

test("A schedule that cannot be held is set aside, does not stop the others, and is held once repaired", async () => {
  for (const key of ["a", "b", "c"]) await world.put(key, later);
  await wantHolds();
  await poison(world.sql, "schedules", "old.key = 'a'");
  await world.tick();
  expect(await keysOf("held_since is not null")).toEqual(["b", "c"]);
  const item = await idOf("a");
  expect(await quarantined(world)).toEqual([{ consumer: "wanted-hold", item, reason: raised, tries: 1 }]);

  await mend(world.sql, "schedules");
  await world.clock.advance(minute);
  await world.tick();
  expect(await keysOf("held_since is not null")).toEqual(["a", "b", "c"]);
  expect(await quarantined(world)).toEqual([]);
});

test("More than a hundred schedules that cannot be held do not stop later ones", async () => {
  await dueOnce(world, "a", 110, later);
  await world.put("b", later);
  await wantHolds();
  await poison(world.sql, "schedules", "old.key <> 'b'");
  await world.tick();
  expect(await keysOf("held_since is not null")).toEqual(["b"]);
  expect(await quarantined(world)).toHaveLength(110);
});

const endHolds = () => world.sql`
  insert into carillon.holds (schedule_id, owner, since, until)
  select id, 'ann', carillon.clock() - interval '2 hours', carillon.clock() - interval '1 hour' from carillon.schedules order by key`;

const holds = async () =>
  (
    await world.sql<{ key: string }[]>`
      select s.key from carillon.holds h join carillon.schedules s on s.id = h.schedule_id order by s.key`
  ).map(({ key }) => key);

test("A schedule whose ended hold cannot be removed is set aside, does not stop the others, and continues once repaired", async () => {
  for (const key of ["a", "b", "c"]) await world.put(key, later);
  await endHolds();
  const item = await idOf("a");
  await poison(world.sql, "holds", `old.schedule_id = ${item}`);
  await world.tick();
  expect(await holds()).toEqual(["a"]);
  expect(await quarantined(world)).toEqual([{ consumer: "ended-hold", item, reason: raised, tries: 1 }]);

  await mend(world.sql, "holds");
  await world.clock.advance(minute);
  await world.tick();
  expect(await holds()).toEqual([]);
  expect(await quarantined(world)).toEqual([]);
});

test("More ended holds than one page has are removed in one tick", async () => {
  await dueOnce(world, "a", 520, later);
  await endHolds();
  await world.tick();
  expect(await holds()).toEqual([]);
});

test("An ended hold stays until a tick has reached its end, and does not stop other holds of its shard", async () => {
  await world.put("over", later);
  await endHolds();
  await world.put("lags", { when: "every 1h" });
  await world.pause("lags", { until: new Date(world.clock.now().getTime() + minute) });
  await world.sql`update carillon.schedules set shard = 2`;
  await world.sql`update carillon.plan set shard = 2`;
  await world.sql`update carillon.holds set shard = 2`;
  await world.clock.advance(2 * minute);
  // No tick has run since the hold of `lags` ended.
  await clearHolds({ ...world, timeIsUp: () => false, note: (error) => Promise.reject(error) });
  expect(await holds()).toEqual(["lags"]);
});
