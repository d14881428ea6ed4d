import { afterEach, beforeEach, expect, test } from "vitest";
import { lockPlan } from "../../lib/db/locks.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";
import { impatientTick, mend, poison, quarantined, raised, told } from "./poison.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const keys = ["a", "b", "c", "d", "e"];

const left = async () =>
  (
    await world.sql<{ key: string }[]>`
      select key from carillon.schedules where deleted_at is null order by key`
  ).map(({ key }) => key);

const idOf = async (key: string) =>
  (await world.sql<{ id: string }[]>`select id from carillon.schedules where key = ${key}`)[0]?.id ?? "";

/**
 * Schedules of one shard that are all over and due for a check. The database knows this of the
 * first two (`finishedOneTimeSchedules`); the others were edited.
 */
async function endedSchedules(): Promise<void> {
  for (const key of keys) await world.put(key, { when: "in 30s", deleteOnEnd: true });
  for (const key of keys.slice(2)) await world.patch(key, { payload: 2 });
  await world.sql`update carillon.schedules set shard = 3`;
  await world.sql`update carillon.plan set shard = 3`;
  await world.tick();
  await world.clock.advance(minute);
  await world.work();
  await world.sql`update carillon.schedules set end_look_at = carillon.clock()`;
}

test.each(["a", "c"])(
  "An ended schedule (%s) that cannot be deleted is set aside, does not stop others of its shard, and is deleted once repaired",
  async (bad) => {
    await endedSchedules();
    const id = await idOf(bad);
    await poison(world.sql, "schedules", `old.key = '${bad}'`);
    await world.tick();
    expect(await left()).toEqual([bad]);
    expect(await quarantined(world)).toEqual([{ consumer: "ended", item: id, reason: raised, tries: 1 }]);
    expect(told(world)).toEqual([["ended", id]]);

    await mend(world.sql, "schedules");
    await world.clock.advance(minute);
    await world.tick();
    expect(await left()).toEqual([]);
    expect(await quarantined(world)).toEqual([]);
  },
);

test("An ended schedule that another transaction has locked does not stop the delete of others of its shard", async () => {
  await endedSchedules();
  await impatientTick(world);
  await world.sql.begin(async (tx) => {
    await tx`select from carillon.schedules where key = 'b' for update`;
    await world.tick();
    expect(await left()).toEqual(["b"]);
    expect(await quarantined(world)).toMatchObject([{ consumer: "ended", item: await idOf("b") }]);
  });
});

test("If the lock of a shard is not granted, the tick fails and sets no ended schedule aside", async () => {
  await endedSchedules();
  await impatientTick(world);
  await world.sql.begin(async (tx) => {
    await lockPlan(tx, 3);
    await expect(world.tick()).rejects.toThrow("lock timeout");
    expect(await left()).toEqual(keys);
    expect(await quarantined(world)).toEqual([]);
  });
});

test("Ended schedules that have failed before never fill a page", async () => {
  await endedSchedules();
  await world.sql`
    insert into carillon.schedules (key, shard, queue, target_kind, tags, created_at, created_by, updated_at, updated_by, end_look_at)
    select 'old-' || i, s.shard, s.queue, s.target_kind, s.tags, s.created_at, s.created_by, s.updated_at, s.updated_by, s.created_at
    from carillon.schedules s, generate_series(1, 4000) i where s.key = 'a'`;
  await world.sql`
    insert into carillon.quarantine (consumer, item, reason, first_at, last_at, tries, next_at)
    select 'ended', id, 'no', carillon.clock(), carillon.clock(), 3, carillon.clock() + interval '10 minutes' from carillon.schedules where key like 'old-%'`;
  await poison(world.sql, "schedules", "old.key like 'old-%'");
  await world.tick();
  expect((await left()).filter((key) => !key.startsWith("old-"))).toEqual([]);
});
