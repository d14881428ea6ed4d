import { afterEach, beforeEach, expect, test } from "vitest";
import { dropForgotten, letGo, setAside, waitsAside } from "../../lib/quarantine/quarantine.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(async () => {
  await world.stop();
});

const waits = async (item: string) => {
  const [row] = await world.sql`select ${waitsAside(world.sql, "ended", world.sql`${item}::text`)} as waits`;
  return row?.["waits"];
};

const entries = () => world.sql`select item, reason, tries, detail from carillon.quarantine order by item`;

test("A row that keeps failing is retried after 1, 2, 4 and at most 64 minutes", async () => {
  const after: number[] = [];
  for (let tries = 1; tries <= 9; tries++) {
    const now = await world.clock.now();
    const [row] = await setAside(world.sql, "ended", [{ item: "7", error: new Error("no") }]);
    expect(row?.tries).toBe(tries);
    after.push(((row?.nextAt.getTime() ?? 0) - now.getTime()) / minute);
    await world.clock.advance(minute);
  }
  expect(after).toEqual([1, 2, 4, 8, 16, 32, 64, 64, 64]);
});

test("A row waits in quarantine until its next retry, for its own consumer only", async () => {
  await setAside(world.sql, "ended", [{ item: "7", error: new Error("no") }]);
  await setAside(world.sql, "follower", [{ item: "8", error: new Error("no") }]);
  expect([await waits("7"), await waits("8")]).toEqual([true, false]);
  await world.clock.advance(minute);
  expect(await waits("7")).toBe(false);
});

test("When a row has succeeded, its own quarantine entry is deleted and no other", async () => {
  await setAside(world.sql, "ended", [
    { item: "7", error: new Error("no") },
    { item: "8", error: new Error("no") },
  ]);
  await letGo(world.sql, "ended", ["7"]);
  expect(await entries()).toMatchObject([{ item: "8" }]);
});

test("The reason of an entry has only an error's name and message, and no value of the database", async () => {
  await setAside(world.sql, "ended", [
    { item: "a", error: "hunter2" },
    { item: "b", error: new TypeError("x is not a function") },
  ]);
  const refused = await world.sql`select 'hunter2'::int`.catch((error: unknown) => error);
  await setAside(world.sql, "ended", [{ item: "c", error: refused }]);
  const reasons = (await entries()).map(({ reason }) => String(reason));
  expect(reasons.slice(0, 2)).toEqual(["a string was thrown", "TypeError: x is not a function"]);
  expect(reasons.join()).not.toContain("hunter2");
});

test("The data that a consumer needs for a retry is kept when a later failure does not name it", async () => {
  await setAside(world.sql, "plan", [{ item: "7", error: new Error("no"), detail: { version: 3 } }]);
  await setAside(world.sql, "plan", [{ item: "7", error: new Error("still no") }]);
  expect(await entries()).toMatchObject([
    { item: "7", tries: 2, reason: "Error: still no", detail: { version: 3 } },
  ]);
});

test("An entry that no consumer has retried within an hour of its time is dropped", async () => {
  await setAside(world.sql, "ended", [{ item: "7", error: new Error("no") }]);
  await world.clock.advance(60 * minute);
  expect(await dropForgotten(world.sql, 100)).toBe(0);
  await world.clock.advance(2 * minute);
  expect(await dropForgotten(world.sql, 100)).toBe(1);
  expect(await entries()).toEqual([]);
});
