import { afterEach, beforeEach, expect, test } from "vitest";
import { defineGroups } from "../../lib/limit/define-limits.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";
import { mend, poison, quarantined, raised } from "./poison.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const behind = async () =>
  (
    await world.sql<{ key: string }[]>`
      select key from carillon.schedules where lane is null order by key`
  ).map(({ key }) => key);

const regrouped = async () =>
  (await world.sql`select from carillon.targets where regrouped_at is not null`).length;

test("A schedule that cannot follow its handler is set aside, does not stop the others, and follows once repaired", async () => {
  for (const key of ["a", "b", "c"])
    await world.put(key, { when: "in 300d", target: { handler: "digest" }, group: "person:1" });
  await defineGroups(world.sql, [{ name: "digest", grouped: true }]);
  await poison(world.sql, "schedules", "old.key = 'a'");
  await world.clock.advance(3 * minute);
  await world.tick();
  expect(await behind()).toEqual(["a"]);
  expect(await quarantined(world)).toMatchObject([{ consumer: "follower", reason: raised, tries: 1 }]);
  await world.clock.advance(minute / 2);
  await world.tick();
  // Otherwise the schedule in quarantine would never follow.
  expect(await regrouped()).toBe(1);

  await mend(world.sql, "schedules");
  await world.clock.advance(minute);
  await world.tick();
  expect(await behind()).toEqual([]);
  expect(await quarantined(world)).toEqual([]);
  expect(await regrouped()).toBe(0);
});

test("A stored version with an odd member does not stop schedules from following their handler, and the member is ignored", async () => {
  for (const key of ["a", "b", "c"])
    await world.put(key, { when: "in 300d", target: { handler: "digest" }, group: "person:1" });
  await world.sql`
    update carillon.schedule_versions v set body = jsonb_set(body, '{serial}', '"maybe"')
    from carillon.schedules s where s.id = v.schedule_id and s.key = 'a'`;
  await defineGroups(world.sql, [{ name: "digest", grouped: true }]);
  await world.clock.advance(3 * minute);
  await world.tick();
  expect(await behind()).toEqual([]);
  expect(await quarantined(world)).toEqual([]);
});
