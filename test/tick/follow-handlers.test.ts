import { afterEach, beforeEach, expect, test } from "vitest";
import { defineGroups } from "../../lib/limit/define-limits.ts";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { settleParcel } from "../../lib/parcel/settle.ts";
import { followHandlers } from "../../lib/tick/housekeeping/follow-handlers.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon({ roles: functionRoles });
});

afterEach(() => world.stop());

const due = { when: `at ${at(minute).toISOString()}`, target: { handler: "digest" }, group: "person:1" };

const define = (grouped: boolean) => defineGroups(world.sql, [{ name: "digest", grouped }]);

const lanes = async () =>
  (await world.sql<{ lane: string | null }[]>`select lane from carillon.schedules order by key`).map(
    ({ lane }) => lane,
  );

const regrouped = () => world.sql`select name from carillon.targets where regrouped_at is not null`;

async function claim(key: string) {
  const found = (await world.jobs(key)).find(({ state }) => state === "waiting");
  return claimParcel(world.sql, found?.parcelId ?? "0", 10 * minute);
}

test("A schedule of a grouped handler is in the lane of its group from its put on", async () => {
  await define(true);
  await world.put("a", due);
  await world.put("b", { ...due, serial: true });
  await world.put("c", { ...due, group: null });
  expect(await lanes()).toEqual(["grouped/digest/person:1", "grouped/digest/person:1", null]);
  expect(await regrouped()).toEqual([]);
});

test("When a handler becomes grouped, its schedules with their waiting and running jobs move to the lane of their group", async () => {
  for (const key of ["a", "b", "c"]) await world.put(key, due);
  await world.put("serial", { ...due, serial: true });
  await world.tick();
  world.queue.messages = [];
  await world.clock.setNow(at(minute));
  const running = await claim("a");
  if (running.outcome !== "claimed") throw new Error("Nothing was claimed.");
  await define(true);
  await world.tick();
  expect(new Set(await lanes())).toEqual(new Set(["grouped/digest/person:1"]));
  expect(await claim("b")).toMatchObject({ outcome: "empty" });
  const { outgoing } = await settleParcel(world.sql, running, [{ kind: "succeeded" }]);
  const together = await claimParcel(world.sql, outgoing[0]?.id ?? "0", minute);
  expect(together.outcome === "claimed" && together.jobs.map(({ key }) => key).sort()).toEqual([
    "b",
    "c",
    "serial",
  ]);
});

test("When a handler is no longer grouped, its schedules leave the group's lane, and are checked until no older request can be in flight", async () => {
  await define(true);
  await world.put("a", due);
  await world.put("serial", { ...due, serial: true });
  await define(false);
  await define(false);
  await world.tick();
  expect(await lanes()).toEqual([null, "group/person:1"]);
  expect(await regrouped()).toHaveLength(1);
  await world.clock.advance(3 * minute);
  await world.tick();
  expect(await regrouped()).toEqual([]);
});

test("When a handler becomes grouped, a tick that runs out of time leaves the remaining schedules to the next", async () => {
  for (const key of ["a", "b", "c"]) await world.put(key, due);
  await define(true);
  let looks = 0;
  const bounds = { timeIsUp: () => ++looks > 2, note: (error: unknown) => Promise.reject(error) };
  await followHandlers(world, bounds);
  expect((await lanes()).filter((lane) => lane === null)).toHaveLength(2);
  await world.clock.advance(3 * minute);
  await world.tick();
  expect(new Set(await lanes())).toEqual(new Set(["grouped/digest/person:1"]));
  expect(await regrouped()).toEqual([]);
});
