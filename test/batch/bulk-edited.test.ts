import { afterEach, beforeEach, expect, test } from "vitest";
import { type BulkBounds, changeMany } from "../../lib/batch/bulk-change.ts";
import type { BulkAction } from "../../lib/batch/bulk-operations.ts";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute, second } from "../support/instants.ts";

/** Edits of other callers between the search of a bulk action and its change. */

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  await world.tick();
});

afterEach(() => world.stop());

const unbounded: BulkBounds = { most: 10_000, timeIsUp: () => false, mustEnd: () => false };
const statesOf = async (...keys: string[]) =>
  Promise.all(keys.map(async (key) => (await readSchedule(world.sql, key))?.state ?? "gone"));

/** The first transaction of a bulk action comes after its search. */
function bulkAround(edit: () => Promise<unknown>, action: Omit<BulkAction, "caller">) {
  const { sql, queue, log } = world;
  let isFirst = true;
  const between = new Proxy(sql, {
    get: (target, name) => {
      if (name !== "begin" || !isFirst) return Reflect.get(target, name);
      isFirst = false;
      return async (...args: Parameters<typeof sql.begin>) => {
        await edit();
        return target.begin(...args);
      };
    },
  });
  return changeMany({ sql: between, queue, log }, { ...action, caller: { name: "ann" } }, unbounded);
}

test("A schedule that no longer matches when it is locked stays unchanged", async () => {
  for (const key of ["crm:a", "crm:b"]) await world.put(key, { when: "every 5m", tags: ["t"] });
  const losesTag = () => world.patch("crm:a", { tags: [] });
  const action = { filter: { tag: "t" }, change: { verb: "delete" } } as const;
  expect(await bulkAround(losesTag, action)).toMatchObject({ done: 1, unchanged: 1 });
  expect(await statesOf("crm:a", "crm:b")).toEqual(["active", "gone"]);
});

test("A bulk delete of ended schedules leaves one that another caller has put again meanwhile", async () => {
  for (const key of ["crm:a", "crm:b"]) await world.put(key, { when: "in 1s" });
  await world.tick();
  await world.clock.advance(2 * second);
  await world.work();
  await world.clock.advance(minute);
  await world.tick();
  expect(await statesOf("crm:a", "crm:b")).toEqual(["ended", "ended"]);
  const putAgain = () => world.put("crm:a", { when: "in 3h" });
  const action = { filter: { state: "ended" }, change: { verb: "delete" } } as const;
  expect(await bulkAround(putAgain, action)).toMatchObject({ done: 1, unchanged: 1 });
  expect(await statesOf("crm:a", "crm:b")).toEqual(["active", "gone"]);
});

test("A bulk delete by the next run leaves a schedule that another caller has moved meanwhile", async () => {
  await world.put("crm:a", { when: "every 5m" });
  const nextTo = new Date(world.clock.now().getTime() + 10 * minute);
  const moves = () => world.patch("crm:a", { when: "every 1d" });
  const action = { filter: { nextTo }, change: { verb: "delete" } } as const;
  expect(await bulkAround(moves, action)).toMatchObject({ done: 0, unchanged: 1 });
  expect(await statesOf("crm:a")).toEqual(["active"]);
});
