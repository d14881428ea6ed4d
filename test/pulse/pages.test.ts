import { afterEach, beforeEach, expect, test } from "vitest";
import { failed } from "../../lib/target/delivery.ts";
import { at, second } from "../support/instants.ts";
import { type BeatWorld, beatWorld } from "./beat-world.ts";

/** More pulses of one second than a page holds, some of which a target does not take. */

let world: BeatWorld;

beforeEach(async () => {
  world = await beatWorld();
  await world.storeMany(3_000, { every: 600, offset: 20, queue: "gone" });
  await world.storeMany(1, { every: 600, offset: 20, queue: "there", first: 100_001 });
  await world.tick();
  await world.clock.setNow(at(20 * second));
});

afterEach(() => world.stop());

const refuse = (message: string, giveUp: boolean) => {
  world.fate = (queue) => (queue === "gone" ? failed(message, giveUp) : "taken");
};

const sentIds = () => new Set(world.sent.map(({ id }) => id));

test("a target that has refused a page of pulses for good gets no request for the next page", async () => {
  refuse("no such queue", true);
  await world.work();
  // With a request for each page, a deleted queue would take the time of all the others.
  expect(world.calls).toEqual([2_000, 1]);
  expect(await world.sql`select reason, count from carillon.pulses_passed`).toEqual([
    { reason: "refused", count: "3000" },
  ]);
});

test("a target that takes no page gets no request for the next one, and gets all of its pulses later, none twice", async () => {
  refuse("not now", false);
  await world.work();
  expect(world.calls).toEqual([2_000, 2_000, 2_000, 1]);
  world.fate = () => "taken";
  await world.clock.advance(6 * second);
  await world.work();
  // If the retry began at the last failed page, the first two thousand would be lost unreported.
  expect(sentIds().size).toBe(3_001);
  expect(world.sent).toHaveLength(3_001);
});

test("pulses that are retried, and then left to the next worker for lack of time, go to the target that lacks them, and to no other", async () => {
  refuse("not now", false);
  await world.work();
  world.fate = () => "taken";
  await world.clock.advance(6 * second);
  await world.work(9_000);
  expect(sentIds().size).toBe(3_001);
  expect(world.sent).toHaveLength(3_001);
});

test("a target is not retried if the worker has no time for it", async () => {
  refuse("not now", false);
  await world.work(9_000);
  // The invocation would end before the settle, and all pulses of the second would go once more.
  expect(world.calls).toEqual([2_000, 1_001]);
});

test("a worker pauses for failing targets as often for all pages of a second as for one", async () => {
  await world.storeMany(2_000, { every: 600, offset: 20, queue: "gone too", first: 200_001 });
  world.fate = (queue) => (queue === "there" ? "taken" : failed("not now"));
  const before = world.clock.now().getTime();
  await world.work();
  // Three tries in the first page, and one in the second, where the next target fails.
  expect(world.calls).toEqual([2_000, 2_000, 2_000, 1_000]);
  expect(world.clock.now().getTime() - before).toBeLessThanOrEqual(600);
});
