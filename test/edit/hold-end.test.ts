import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { pauseLabel } from "../../lib/batch/label-holds.ts";
import { explain } from "../../lib/explain/explain.ts";
import { countSchedules, listSchedules } from "../../lib/history/search-schedules.ts";
import { versionsOf } from "../../lib/history/versions.ts";
import { readStats } from "../../lib/stats/stats.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  await world.tick();
});

afterEach(() => world.stop());

const versions = async (key: string, limit = 50) =>
  (await versionsOf(world.sql, { key, limit })).items.map(({ version, change, at: when, detail }) => ({
    version,
    change,
    at: when,
    detail,
  }));
const ends = () =>
  world.sql<{ at: Date; actor: string; version: number; detail: object }[]>`
    select at, actor, version, detail from carillon.audit where detail->'ended' is not null order by at, id`;

const until = at(10 * minute);
const detail = { owner: "ann", reason: "repair", until: until.toISOString(), ended: true };

describe("the end of a hold", () => {
  beforeEach(async () => {
    await world.put("k", { when: "every 1h" });
    await world.pause("k", { until, reason: "repair" });
  });

  test("The versions have the end of a hold from its instant on, the same before and after the tick has cleared it", async () => {
    await world.clock.setNow(at(10 * minute - 1));
    expect(await versions("k")).toHaveLength(2);
    await world.clock.setNow(until);
    const listed = await versions("k");
    expect(listed).toMatchObject([
      { version: 2, change: "resumed", at: until, detail },
      { version: 2, change: "paused" },
      { version: 1, change: "created" },
    ]);
    await world.clock.advance(3 * minute);
    await world.tick();
    expect(await world.sql`select from carillon.holds`).toHaveLength(0);
    expect(await versions("k")).toEqual(listed);
  });

  test("The end of a hold does not count towards the limit of a page of versions", async () => {
    await world.clock.setNow(until);
    expect(await versions("k", 1)).toMatchObject([{ change: "resumed" }, { change: "paused" }]);
  });

  test("The audit has the end of a hold with owner, reason and end, dated at that instant", async () => {
    await world.clock.setNow(at(13 * minute));
    await world.tick();
    expect(await ends()).toMatchObject([{ at: until, actor: "carillon", version: 2, detail }]);
  });

  test("An edit that meets an ended hold leaves the same entry as the tick", async () => {
    await world.clock.setNow(at(11 * minute));
    await world.tick();
    await world.patch("k", { payload: 1 });
    expect(await ends()).toMatchObject([{ at: until, version: 2, detail }]);
    expect((await versions("k")).map(({ version, change }) => [version, change])).toEqual([
      [3, "patched"],
      [2, "resumed"],
      [2, "paused"],
      [1, "created"],
    ]);
  });

  test("A hold that ends while another one stays leaves its entry too", async () => {
    await world.pause("k", { owner: "bob" });
    await world.clock.setNow(at(13 * minute));
    await world.tick();
    expect(await ends()).toMatchObject([{ at: until, version: 3, detail }]);
    expect(await versions("k", 1)).toMatchObject([
      { version: 3, change: "resumed", detail },
      { version: 3, change: "paused", detail: { owner: "bob" } },
    ]);
  });
});

test("The end of a hold of a group is an entry of the group and of each member", async () => {
  await world.put("k", { when: "every 1h", group: "shop" });
  const label = { scope: "group", name: "shop" } as const;
  const deps = { sql: world.sql, queue: world.queue };
  await pauseLabel(deps, { label, caller: { name: "ann" }, reason: "repair", until });
  await world.clock.setNow(at(13 * minute));
  await world.tick();
  const entries = await world.sql`
    select action, subject, at, detail from carillon.audit where detail->'ended' is not null order by action`;
  expect([...entries]).toMatchObject([
    { action: "group.resumed", subject: "shop", at: until, detail },
    { action: "schedule.resumed", subject: "k", at: until, detail: { ...detail, group: "shop" } },
  ]);
});

test("Counts and lists of paused schedules are right from the instant at which a hold ends", async () => {
  for (const key of ["a", "b", "c"]) await world.put(key, { when: "every 1h" });
  await world.pause("a", { until });
  await world.pause("b", { until: at(20 * minute) });
  await world.pause("c");
  const counted = async () => ({
    stats: (await readStats(world.sql)).schedules.paused,
    count: await countSchedules(world.sql, { state: "paused" }),
    list: (await listSchedules(world.sql, { state: "paused", limit: 10 })).items.map(({ key }) => key),
  });
  const all = (keys: string[]) => ({
    stats: keys.length,
    count: { count: keys.length, more: false },
    list: keys,
  });
  await world.clock.setNow(at(10 * minute - 1));
  expect(await counted()).toEqual(all(["a", "b", "c"]));
  await world.clock.setNow(until);
  expect(await counted()).toEqual(all(["b", "c"]));
  await world.clock.setNow(at(20 * minute));
  expect(await counted()).toEqual(all(["c"]));
  await world.tick();
  expect(await counted()).toEqual(all(["c"]));
});

test("The deletion of a held schedule records its occurrences under the hold as skipped", async () => {
  await world.put("often", { when: "every 10m" });
  await world.put("free", { when: "every 10m" });
  await world.pause("often");
  await world.clock.setNow(at("10:35:00"));
  await world.remove("often");
  await world.remove("free");
  const ranges = await world.sql`select from_at, to_at, count::int, reason from carillon.passed_over`;
  expect(ranges).toEqual([{ from_at: at("10:10:00"), to_at: at("10:30:00"), count: 3, reason: "paused" }]);
  expect(await explain(world.sql, { key: "often", at: at("10:20:00") })).toMatchObject({
    outcome: "skipped",
    reason: "paused",
    passedOver: { from: at("10:10:00"), to: at("10:30:00") },
  });
});
