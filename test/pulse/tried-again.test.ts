import { afterEach, beforeEach, expect, test } from "vitest";
import { failed } from "../../lib/target/delivery.ts";
import { at, second } from "../support/instants.ts";
import { type BeatWorld, beatWorld } from "./beat-world.ts";

let world: BeatWorld;

beforeEach(async () => {
  world = await beatWorld();
});

afterEach(() => world.stop());

test("a retry sends only those pulses that the queue did not take", async () => {
  // Otherwise one message that is refused for a moment has all pulses of that second sent twice.
  await world.storeMany(5, { every: 600, offset: 20 });
  await world.tick();
  await world.clock.setNow(at(20 * second));
  let isBusy = true;
  world.fate = (_queue, id) => {
    if (!isBusy || !id.startsWith("48-")) return "taken";
    isBusy = false;
    return failed("throttled");
  };
  await world.work();
  expect(world.calls).toEqual([5, 1]);
  expect(new Set(world.sent.map(({ id }) => id)).size).toBe(5);
  expect(world.sent).toHaveLength(5);
});

test("pulses that are left to the next worker for lack of time have as many attempts left as before", async () => {
  // Otherwise a queue that takes nothing is retried without end if the worker is short of time.
  await world.storeMany(3_000, { every: 600, offset: 20 });
  await world.tick();
  await world.clock.setNow(at(20 * second));
  world.fate = () => failed("not now");
  await world.work();
  await world.clock.advance(6 * second);
  world.fate = () => "taken";
  // The message is not sent during the outage, so the same call does not work it.
  world.queue.outage = new Error("away");
  await world.work(9_000);
  expect(
    await world.sql`select pulse_tries from carillon.parcels where pulse_at <= carillon.clock()`,
  ).toEqual([{ pulse_tries: 1 }]);
});
