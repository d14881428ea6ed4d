import { afterEach, beforeEach, expect, test } from "vitest";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const occurrences = async () => (await world.jobs()).map(({ occurrence, version }) => [occurrence, version]);

test("the second of two edits between two ticks plans no occurrence from before the first", async () => {
  await world.put("often", { when: "every 7m" });
  await world.tick();
  await world.clock.setNow(at("10:10:30"));
  await world.put("often", { when: "* * * * *" });
  await world.clock.setNow(at("10:12:10"));
  await world.put("often", { when: "every 7m", payload: "again" });
  await world.tick();
  expect(await occurrences()).toEqual([
    [at("10:07:00"), 1],
    [at("10:11:00"), 2],
    [at("10:12:00"), 2],
  ]);
});

test("a schedule that is created and edited between two ticks gets no job from before its creation", async () => {
  await world.tick();
  await world.clock.setNow(at("10:10:30"));
  await world.put("new", { when: "* * * * *" });
  await world.clock.setNow(at("10:11:10"));
  await world.put("new", { when: "every 7m" });
  await world.tick();
  expect(await occurrences()).toEqual([[at("10:11:00"), 1]]);
});

test("occurrences skipped by two edits between two ticks are in the ledger once", async () => {
  await world.put("often", { when: "every 5s" });
  await world.clock.setNow(at("10:10:00"));
  await world.patch("often", { payload: "new" });
  await world.clock.setNow(at("10:20:00"));
  await world.patch("often", { payload: "newer" });
  const ranges = await world.sql<{ from: Date; to: Date }[]>`
    select from_at as "from", to_at as "to" from carillon.passed_over order by from_at`;
  expect(ranges).toEqual([
    { from: at("10:00:05"), to: at("10:07:50") },
    { from: at("10:10:05"), to: at("10:17:50") },
  ]);
});

test("an `at` of the last minute without a tick still runs after an edit", async () => {
  await world.clock.setNow(at("10:10:00"));
  await world.put("late", { when: "at 2026-03-02T10:09:30Z" });
  await world.patch("late", { payload: "new" });
  expect(await occurrences()).toEqual([[at("10:09:30"), 1]]);
});
