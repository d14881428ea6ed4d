import { afterAll, beforeAll, expect, test } from "vitest";
import { type Carillon, carillon } from "./carillon.ts";
import { monday } from "./instants.ts";

let world: Carillon;

beforeAll(async () => {
  world = await carillon();
});

afterAll(() => world.stop());

test("the clock of the database and its copy in the program stand still until a test moves both", async () => {
  const inDatabase = async () => (await world.sql<{ now: Date }[]>`select carillon.clock() as now`)[0]?.now;
  expect(await inDatabase()).toEqual(new Date(monday));
  await world.clock.advance(1_500);
  expect(await inDatabase()).toEqual(new Date(Date.parse(monday) + 1_500));
  expect(world.clock.now()).toEqual(await inDatabase());
  await world.clock.setNow(monday);
  expect(world.clock.now()).toEqual(new Date(monday));
});

test("a sleep ends when the clock has reached its end", async () => {
  let awake = false;
  const sleeping = world.clock.sleep(1_000).then(() => {
    awake = true;
  });
  await world.clock.advance(999);
  expect(awake).toBe(false);
  await world.clock.advance(1);
  await sleeping;
});

test("a schedule is put, fired, sent, claimed, delivered and settled", async () => {
  await world.put("hello", { when: "in 3m30s", payload: { n: 1 } });
  await world.clock.advance(60_000);
  expect(await world.tick()).toMatchObject({ jobs: 1, parcels: 1, finished: true });
  await world.work();
  expect(world.delivered).toEqual([]);
  await world.clock.advance(150_000);
  await world.work();
  expect(world.delivered).toMatchObject([{ key: "hello", attempt: 1, payload: { n: 1 } }]);
  expect(await world.jobs()).toMatchObject([
    { key: "hello", state: "succeeded", attempt: 1, parcelId: null },
  ]);
});
