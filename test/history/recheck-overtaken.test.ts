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

/** A recheck runs for up to a minute; an edit has asked for something else since, and that has run, its own recheck too. */
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

test("a schedule has not ended while a recheck of an older version runs", async () => {
  // Else `deleteOnEnd` deletes the schedule of a job that a worker has in its hands.
  await overtaken();
  expect(await world.read("order")).toMatchObject({ state: "active", nextAt: null });
});

test("a schedule has ended although the worker of an older version's recheck has died", async () => {
  // That recheck is cancelled when it comes to a claim: the caller would be told of a run that never comes.
  await overtaken();
  await world.clock.advance(minute);
  expect(await world.read("order")).toMatchObject({ state: "ended", nextAt: null });
});
