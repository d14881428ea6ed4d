import { afterAll, beforeAll, expect, test } from "vitest";
import { type QuotaWorld, quotaWorld } from "./quota-world.ts";

let world: QuotaWorld;
beforeAll(async () => {
  world = await quotaWorld();
});
afterAll(() => world.api.stop());

test("Schedules that are older than their team are counted by ticks, and a tick corrects usage that was changed by hand", async () => {
  const { api } = world;
  for (const n of [1, 2, 3]) await world.put(`late:${n}`, { when: "every 7d", payload: "abc" });
  expect((await world.noted())["late:"]).toBeUndefined();
  await world.define("late:=schedules=3");
  await api.clock.advance(61_000);
  await api.tick();
  expect((await world.noted())["late:"]).toEqual({ schedules: 3, perYear: 3 * 52, payloadBytes: 15 });
  expect((await world.put("late:4")).status).toBe(422);
  // A longer prefix takes its schedules over.
  await world.define("late:=schedules=3", "late:1=schedules=1");
  await api.clock.advance(61_000);
  await api.tick();
  expect(await world.noted()).toMatchObject({ "late:": { schedules: 2 }, "late:1": { schedules: 1 } });
  expect(await world.noted()).toEqual(await world.counted());
  await api.sql`delete from carillon.usage`;
  await api.clock.advance(601_000);
  await api.tick();
  expect(await world.noted()).toEqual(await world.counted());
});

test("A schedule that is locked meanwhile is assigned by a later tick, and those before it at once", async () => {
  const { api } = world;
  for (const n of [1, 2, 3]) await world.put(`kept:${n}`, { when: "every 7d" });
  await world.define("kept:=schedules=3");
  await api.clock.advance(61_000);
  await api.sql.begin(async (tx) => {
    await tx`select from carillon.schedules where key = 'kept:2' for update`;
    await api.tick();
    expect((await world.noted())["kept:"]).toMatchObject({ schedules: 1 });
  });
  await api.tick();
  expect((await world.noted())["kept:"]).toMatchObject({ schedules: 3 });
});
