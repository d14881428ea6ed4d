import { expect, test } from "vitest";
import { Places } from "../../lib/target/places.ts";
import { sideBySide, turnMs } from "../../lib/target/side-by-side.ts";
import { monday } from "../support/instants.ts";
import { manualClock } from "../support/manual-clock.ts";

const clock = manualClock(monday);

test("if two parcels share the places, the first is done before the second begins, and each place is given back", async () => {
  const places = new Places(2);
  const begun: string[] = [];
  const work = async (name: string) => {
    begun.push(name);
  };
  await Promise.all([
    sideBySide(["a0", "a1", "a2", "a3", "a4"], places, clock, work),
    sideBySide(["b0", "b1", "b2"], places, clock, work),
  ]);
  expect(begun).toEqual(["a0", "a1", "a2", "a3", "a4", "b0", "b1", "b2"]);
  expect([places.take(), places.take()]).toEqual([true, true]);
});

test("an item that hangs occupies one place only", async () => {
  const places = new Places(2);
  const hanging = Promise.withResolvers<void>();
  const begun: string[] = [];
  const work = async (name: string) => {
    begun.push(name);
    if (name === "a0") await hanging.promise;
  };
  const first = sideBySide(["a0", "a1", "a2"], places, clock, work);
  await sideBySide(["b0", "b1"], places, clock, work);
  expect(begun).toEqual(["a0", "a1", "a2", "b0", "b1"]);
  hanging.resolve();
  await first;
});

test("an item that fails gives its place back, and the failure is reported", async () => {
  const places = new Places(1);
  const work = () => Promise.reject(new Error("no"));
  await expect(sideBySide(["a"], places, clock, work)).rejects.toThrow("no");
  expect(places.take()).toBe(true);
});

test("after the turn of five seconds no more items begin, but the first ones always do", async () => {
  const own = manualClock(monday);
  const begun: number[] = [];
  await sideBySide([0, 1, 2, 3], new Places(2), own, async (item) => {
    begun.push(item);
    await own.advance(turnMs);
  });
  expect(begun).toEqual([0, 1]);
});
