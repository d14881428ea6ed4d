import { afterEach, beforeEach, expect, test } from "vitest";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { done } from "../../lib/target/delivery.ts";
import { at, hour, minute, second } from "../support/instants.ts";
import { again, handler, type RecheckWorld, recheckWorld } from "./recheck-world.ts";

let world: RecheckWorld;

beforeEach(async () => {
  world = await recheckWorld();
});

afterEach(() => world.stop());

/**
 * A recheck runs for up to a minute. An edit has changed the schedule since, whose new version has
 * run, with its own recheck.
 */
async function overtaken(): Promise<void> {
  await world.checkedTwice("order");
  await world.clock.setNow(at(2 * hour));
  const [, , recheck] = await world.jobs("order");
  await claimParcel(world.sql, recheck?.parcelId ?? "", minute);
  world.queue.messages = [];
  world.answers.set("order", [again(2 * hour + 10 * second), done]);
  await world.put("order", { when: "in 1s", ...handler, payload: 2 });
  await world.workAt(2 * hour + second);
  await world.workAt(2 * hour + 10 * second);
  expect((await world.history("order")).at(0)).toMatchObject({
    kind: "again",
    checks: 1,
    state: "succeeded",
  });
}

test("A schedule has not ended while a recheck of an older version runs", async () => {
  // Otherwise `deleteOnEnd` deletes a schedule whose job a worker is running.
  await overtaken();
  expect(await world.read("order")).toMatchObject({ state: "active", nextAt: null });
});

test("A schedule has ended although the worker of an older version's recheck has died", async () => {
  // That recheck is cancelled at its next claim: a caller would wait for a run that never comes.
  await overtaken();
  await world.clock.advance(minute);
  expect(await world.read("order")).toMatchObject({ state: "ended", nextAt: null });
});
