import { afterEach, beforeEach, expect, test } from "vitest";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { endLease } from "../../lib/parcel/end-lease.ts";
import { settleParcel } from "../../lib/parcel/settle.ts";
import { failed } from "../../lib/target/delivery.ts";
import { hour, minute, second } from "../support/instants.ts";
import { again, handler, type RecheckWorld, recheckWorld } from "./recheck-world.ts";

let world: RecheckWorld;

beforeEach(async () => {
  world = await recheckWorld();
});

afterEach(() => world.stop());

const serial = { ...handler, group: "order:1", serial: true };
const entries = () => world.sql`select from carillon.lane_entries`;

/**
 * Two schedules of one group: `first` has a recheck after an hour, and `second` is due at the same
 * time.
 */
async function twoInLine(): Promise<void> {
  world.answers.set("first", [again(hour)]);
  await world.put("first", { when: "in 1m", ...serial });
  await world.workAt(minute);
  await world.put("second", { when: `at 2026-03-02T11:00:01Z`, ...serial });
}

async function claimedRecheck() {
  const [, recheck] = await world.jobs("first");
  const claim = await claimParcel(world.sql, recheck?.parcelId ?? "", minute);
  if (claim.outcome !== "claimed") throw new Error(claim.outcome);
  return claim;
}

test("A recheck goes through its group's lane, and hands it on", async () => {
  await twoInLine();
  await world.clock.setNow(new Date("2026-03-02T11:00:00Z"));
  const claim = await claimedRecheck();
  await world.clock.advance(second);
  await world.tick();
  await world.work();
  expect(world.delivered.map(({ key }) => key)).toEqual(["first"]);
  const { outgoing } = await settleParcel(world.sql, claim, [{ kind: "succeeded" }]);
  expect(outgoing).toHaveLength(1);
  await world.workAt(hour + minute);
  await world.workAt(hour + 2 * minute);
  expect(world.delivered.map(({ key }) => key)).toEqual(["first", "second"]);
  expect(await entries()).toHaveLength(0);
});

test("A recheck in its group's lane runs although an edit has changed the schedule's tags since its request", async () => {
  // Otherwise a claim takes the recheck for one of an older request, and cancels it because of a
  // tag.
  await twoInLine();
  await world.patch("first", { tags: ["late"] });
  await world.workAt(hour);
  expect((await world.read("first")).lastJob).toMatchObject({ kind: "again", state: "succeeded" });
});

test("A recheck that an edit has overtaken while its worker died hands its lane on at its next claim", async () => {
  // Otherwise the group's next job waits for a sweep, up to a minute and more, although the lane is
  // free.
  await twoInLine();
  await world.clock.setNow(new Date("2026-03-02T11:00:00Z"));
  const { id } = await claimedRecheck();
  await world.clock.advance(second);
  await world.tick();
  await world.work();
  await world.put("first", { when: "in 9h", ...serial });
  await world.clock.advance(minute);
  await endLease(world, id, []);
  const [next] = await world.jobs("second");
  const freed = [{ id: next?.parcelId, queue: "slow", waitMs: 0 }];
  expect(await claimParcel(world.sql, id, minute)).toMatchObject({ outcome: "empty", freed });
  expect(await entries()).toHaveLength(1);
});

test.each([
  ["stays in", serial],
  ["leaves", handler],
  ["changes", { ...serial, group: "order:2" }],
])(
  "An edit by which a schedule %s its lane ends a recheck that waits for a retry, and blocks no other job",
  async (_, body) => {
    await twoInLine();
    world.answers.set("first", [failed("The shop does not answer.")]);
    await world.patch("first", {
      retry: { attempts: 5, backoff: "fixed", base: "30m", max: "30m", jitter: "none" },
    });
    await world.workAt(hour);
    expect((await world.read("first")).lastJob).toMatchObject({ kind: "again", state: "retrying" });
    await world.workAt(hour + second);
    const waited = world.delivered.map(({ key }) => key);
    await world.put("first", { when: "in 9h", ...body });
    await world.work();
    expect(waited).toEqual(["first", "first"]);
    expect(world.delivered.map(({ key }) => key)).toEqual(["first", "first", "second"]);
    expect(await entries()).toHaveLength(0);
  },
);
