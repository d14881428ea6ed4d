import { afterEach, beforeEach, expect, test } from "vitest";
import { pauseLabel, resumeLabel } from "../../lib/batch/label-holds.ts";
import { finishSharedHolds } from "../../lib/tick/housekeeping/finish-shared-holds.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";
import { impatientTick, mend, poison, quarantined, raised, told } from "./poison.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  for (const key of keys) await world.put(key, { when: "in 300d", group: "shop" });
  await world.sql`update carillon.schedules set shard = 2`;
  await world.sql`update carillon.plan_far set shard = 2`;
});

afterEach(() => world.stop());

const keys = ["a", "b", "c", "d"];
const params = { label: { scope: "group", name: "shop" } as const, caller: { name: "ann" } };
/** The caller stops before any member was changed. */
const gone = { most: 0, timeIsUp: () => false };

const held = async () =>
  (
    await world.sql<{ key: string }[]>`
      select key from carillon.schedules where held_since is not null order by key`
  ).map(({ key }) => key);

const idOf = async (key: string) =>
  (await world.sql<{ id: string }[]>`select id from carillon.schedules where key = ${key}`)[0]?.id ?? "";

const open = async () =>
  (await world.sql`select from carillon.shared_holds where reached is not null`).length;

test("A member that cannot be paused is set aside, does not stop the others, and is held once repaired", async () => {
  await pauseLabel(world, params, gone);
  await poison(world.sql, "schedules", "old.key = 'b'");
  await world.tick();
  expect(await held()).toEqual(["a", "c", "d"]);
  expect(await quarantined(world)).toMatchObject([{ consumer: "shared-hold", reason: raised, tries: 1 }]);
  expect(
    await world.sql`select s.key from carillon.quarantine q join carillon.schedules s on s.id = q.schedule_id`,
  ).toEqual([{ key: "b" }]);
  await world.clock.advance(minute / 2);
  await world.tick();
  expect(await quarantined(world)).toMatchObject([{ tries: 1 }]);
  expect(await open()).toBe(1);

  await mend(world.sql, "schedules");
  await world.clock.advance(minute);
  await world.tick();
  expect(await held()).toEqual(keys);
  expect(await quarantined(world)).toEqual([]);
  await world.tick();
  expect(await open()).toBe(0);
});

test("A member that cannot be resumed is released once repaired, and the hold ends with it", async () => {
  await pauseLabel(world, params);
  await resumeLabel(world, params, gone);
  await poison(world.sql, "holds", `old.schedule_id = ${await idOf("a")}`);
  await world.tick();
  expect(await held()).toEqual(["a"]);
  await mend(world.sql, "holds");
  await world.clock.advance(minute);
  await world.tick();
  await world.tick();
  expect(await held()).toEqual([]);
  expect(await world.sql`select from carillon.shared_holds`).toEqual([]);
  expect(await quarantined(world)).toEqual([]);
});

test("A member in quarantine does not make the answer to a pause `unfinished`", async () => {
  await pauseLabel(world, params, gone);
  await poison(world.sql, "schedules", "old.key = 'b'");
  await world.tick();
  const again = await pauseLabel(world, params);
  expect(again.unfinished).toBeUndefined();
  expect(again.hold?.reached).not.toBeNull();
});

test("A member in quarantine for a pause leaves it when a resume comes before the retry", async () => {
  await pauseLabel(world, params, gone);
  await poison(world.sql, "schedules", "old.key = 'b'");
  await world.tick();
  await mend(world.sql, "schedules");
  await resumeLabel(world, params, gone);
  await world.tick();
  expect(await held()).toEqual([]);
  expect(await quarantined(world)).toEqual([]);
});

test("A member that another transaction has locked does not stop the pause of others of its shard", async () => {
  await pauseLabel(world, params, gone);
  await impatientTick(world);
  await world.sql.begin(async (tx) => {
    await tx`select from carillon.schedules where key = 'b' for update`;
    await world.tick();
    expect(await held()).toEqual(["a", "c", "d"]);
    expect(await quarantined(world)).toMatchObject([{ consumer: "shared-hold" }]);
  });
});

test("A member that was set aside is not retried in the same tick, however often the walk runs out of time", async () => {
  await world.sql`update carillon.schedules set shard = case key when 'a' then 1 else 2 end`;
  await pauseLabel(world, params, gone);
  await poison(world.sql, "schedules", "old.key = 'a'");
  let looks = 0;
  const note = (error: unknown) => {
    throw error;
  };
  // The first walks end once a member was set aside, before they reach the others.
  const cut = () => told(world).length > looks;
  for (looks = 0; looks < 3; looks++) await finishSharedHolds(world, { timeIsUp: cut, note });
  expect(await quarantined(world)).toMatchObject([{ consumer: "shared-hold", tries: 1 }]);
  expect(await held()).toEqual(["b", "c", "d"]);
});
