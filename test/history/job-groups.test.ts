import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { listDead } from "../../lib/history/dead-jobs.ts";
import { type GroupPlace, type GroupSearch, groupJobs } from "../../lib/history/error-groups.ts";
import { searchJobs } from "../../lib/history/jobs/search-jobs.ts";
import { failed, thrown } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, second } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const errorOf: Record<string, string> = {
  "crm:1": "Order 17 not found",
  "crm:2": "Order 18 not found",
  "crm:3": "db is down",
  "shop:1": "Order 19 not found",
  "shop:2": "Order 20 not found",
  "shop:3": "Order 21 not found",
};

const targetOf = (key: string) => ({ queue: key.startsWith("crm:") ? "crm" : "shop" });

/** Six schedules whose jobs fail, one a second, in three error groups of two targets. */
async function sixFail(attempts = 1): Promise<void> {
  world.outcome = ({ key }) =>
    key === "crm:3" ? thrown(new Error("db is down"), attempts === 1) : failed(errorOf[key] ?? "");
  for (const key of Object.keys(errorOf)) {
    await world.put(key, {
      when: "in 1s",
      target: targetOf(key),
      tags: [key.endsWith("1") ? "one" : "more"],
      group: key.slice(0, 3),
      retry: { attempts, backoff: "fixed", base: "1h", jitter: "none" },
    });
    await world.tick();
    await world.clock.advance(second);
    await world.work();
  }
}

const search = (parts: Partial<GroupSearch> = {}) =>
  groupJobs(world.sql, { state: "dead", by: "target,error", filter: {}, limit: 50, ...parts });

const counts = async (parts: Partial<GroupSearch> = {}) =>
  (await search(parts)).items.map(({ target, error, count }) => [target, error, count]);

describe("the groups of dead jobs", () => {
  test("dead jobs are grouped by target and normalised error, the largest group first", async () => {
    await sixFail();
    const { items, next, ...rest } = await search();
    expect(rest).toEqual({ groups: 3, looked: 6, more: false, lookedFrom: null });
    expect(next).toBeUndefined();
    expect(items).toMatchObject([
      {
        target: "queue/shop",
        errorClass: null,
        error: "Order <n> not found",
        count: 3,
        schedules: 3,
        firstAt: at(4 * second),
        lastAt: at(6 * second),
        sample: { key: "shop:3", error: "Order 21 not found" },
      },
      { target: "queue/crm", error: "Order <n> not found", count: 2, sample: { key: "crm:2" } },
      { target: "queue/crm", errorClass: "Error", error: "Error: db is down", count: 1, reason: "gave-up" },
    ]);
    expect(items.map(({ errorGroups }) => errorGroups)).toEqual([
      [expect.any(String)],
      [expect.any(String)],
      [expect.any(String)],
    ]);
  });

  test("dead jobs are grouped by target, by error or by reason alone", async () => {
    await sixFail();
    const by = async (what: GroupSearch["by"]) =>
      (await search({ by: what })).items.map(({ count, schedules, errorGroups }) => [
        count,
        schedules,
        errorGroups?.length,
      ]);
    expect(await by("target")).toEqual([
      [3, 3, 2],
      [3, 3, 1],
    ]);
    expect(await by("error")).toEqual([
      [5, 5, 2],
      [1, 1, 1],
    ]);
    expect(await by("reason")).toEqual([
      [5, 5, 2],
      [1, 1, 1],
    ]);
  });

  test("groups are of the jobs that match the filter", async () => {
    await sixFail();
    const order = "Order <n> not found";
    const crm = [
      ["queue/crm", order, 2],
      ["queue/crm", "Error: db is down", 1],
    ];
    expect(await counts({ filter: { prefix: "crm:" } })).toEqual(crm);
    expect(await counts({ filter: { group: "crm" } })).toEqual(crm);
    expect(await counts({ filter: { target: "queue/crm" } })).toEqual(crm);
    expect(await counts({ filter: { tag: "one" } })).toHaveLength(2);
    expect(await counts({ filter: { key: "crm:3" } })).toEqual([["queue/crm", "Error: db is down", 1]]);
    expect(await counts({ filter: { reason: "gave-up" } })).toEqual([["queue/crm", "Error: db is down", 1]]);
    expect(await counts({ filter: { from: at(5 * second), to: at(6 * second) } })).toEqual([
      ["queue/shop", order, 1],
    ]);
    expect(await counts({ filter: { prefix: "none:" } })).toEqual([]);
  });

  test("a group keeps its target when its schedule goes to another one", async () => {
    await sixFail();
    await world.patch("crm:3", { target: { queue: "other" } });
    expect(await counts({ filter: { key: "crm:3" } })).toEqual([["queue/crm", "Error: db is down", 1]]);
  });

  test("pages of groups have each group once, also when jobs die in between", async () => {
    await sixFail();
    const seen: unknown[] = [];
    let after: GroupPlace | undefined;
    for (let page = 0; page < 5; page++) {
      const { items, next } = await search({ limit: 1, after });
      seen.push(...items.map(({ errorGroups, count }) => [errorGroups?.[0], count]));
      if (next === undefined) break;
      after = next;
      await world.put(`late:${page}`, { when: "in 1s", target: { queue: "crm" }, retry: { attempts: 1 } });
      await world.tick();
      await world.clock.advance(second);
      await world.work();
    }
    expect(seen.map((row) => (row as [string, number])[1])).toEqual([3, 2, 1]);
    expect(new Set(seen.map((row) => (row as [string, number])[0])).size).toBe(3);
  });

  test("a group is counted among the newest 20,000 dead jobs, and says from which death on", async () => {
    await sixFail();
    await world.sql`
      insert into carillon.dead_jobs (occurrence, schedule_id, kind, n, died_at, reason, error_group)
      select d.occurrence, d.schedule_id, 'manual', g, d.died_at + g * interval '1 ms', d.reason, d.error_group
      from (select * from carillon.dead_jobs order by died_at desc limit 1) d cross join generate_series(1, 20000) g`;
    const { items, ...rest } = await search();
    expect(items.map(({ count }) => count)).toEqual([20_000]);
    expect(rest).toEqual({ groups: 1, looked: 20_000, more: true, lookedFrom: at(6 * second + 1) });
    expect(await counts({ filter: { to: at(6 * second + 1) } })).toHaveLength(3);
  });
});

describe("the groups of retrying jobs", () => {
  test("jobs that wait for their next attempt are grouped by their last failure", async () => {
    await sixFail(2);
    expect(await counts({ state: "retrying" })).toEqual([
      ["queue/shop", "Order <n> not found", 3],
      ["queue/crm", "Order <n> not found", 2],
      ["queue/crm", "Error: db is down", 1],
    ]);
    expect(await counts({ state: "retrying", filter: { prefix: "crm:" }, by: "target" })).toMatchObject([
      ["queue/crm", expect.anything(), 3],
    ]);
    expect(await counts()).toEqual([]);
  });
});

describe("retrying jobs beside more of another team than are looked at", () => {
  /** Newer parcels of retrying jobs of another team; it may share them with others. */
  async function flood(): Promise<void> {
    await sixFail(2);
    await world.put("other:1", { when: "in 1d" });
    await world.sql`
      insert into carillon.parcels (shard, queue, ready_at, offer_at, occurrences, schedule_ids, kinds, ns)
      select 0, 'slow', carillon.clock(), carillon.clock(), array_fill(date_trunc('day', carillon.clock()), array[100]),
        array_fill((select id from carillon.schedules where key = 'other:1'), array[100]), array_fill('cadence'::carillon.job_kind, array[100]), array_fill(0, array[100])
      from generate_series(1, 300) n`;
  }

  test("Retrying jobs of another team hide none of a prefix, and none of one schedule", async () => {
    await flood();
    for (const [filter, count] of [
      [{ prefix: "crm:" }, 3],
      [{ key: "shop:1" }, 1],
    ] as const) {
      const { items, more } = await search({ state: "retrying", filter, by: "target" });
      expect({ counts: items.map((each) => each.count), more }).toEqual({ counts: [count], more: false });
    }
  });

  test("Without a filter the groups of retrying jobs say that there are more than were looked at", async () => {
    await flood();
    expect(await search({ state: "retrying", by: "target" })).toMatchObject({ more: true });
  });
});

describe("the filter for error groups", () => {
  test("jobs are listed by the error group of their last failure", async () => {
    await sixFail();
    const [largest] = (await search()).items;
    const errorGroup = largest?.errorGroups ?? [];
    const keys = async (filter: object) =>
      (
        await listDead(world.sql, { filter: { errorGroup, ...filter }, order: "newest", limit: 50 })
      ).items.map(({ key }) => key);
    expect(await keys({})).toEqual(["shop:3", "shop:2", "shop:1"]);
    expect(await keys({ prefix: "shop:2" })).toEqual(["shop:2"]);
    expect(await keys({ prefix: "crm:" })).toEqual([]);
    const both = (await search({ by: "error" })).items[0]?.errorGroups ?? [];
    expect(await keys({ errorGroup: both })).toEqual(["shop:3", "shop:2", "shop:1", "crm:2", "crm:1"]);
  });

  test("retrying jobs, and jobs of any state, are found by their error group", async () => {
    await sixFail(2);
    const [largest] = (await search({ state: "retrying" })).items;
    const errorGroup = largest?.errorGroups ?? [];
    for (const filter of [{ state: "retrying" as const }, {}, { prefix: "shop:" }, { tag: "one" }]) {
      const { items } = await searchJobs(world.sql, { filter: { errorGroup, ...filter }, limit: 50 });
      const keys = items.map(({ key }) => key).sort();
      expect(keys).toEqual("tag" in filter ? ["shop:1"] : ["shop:1", "shop:2", "shop:3"]);
    }
    const { items } = await searchJobs(world.sql, { filter: { errorGroup, prefix: "crm:" }, limit: 50 });
    expect(items).toEqual([]);
  });
});
