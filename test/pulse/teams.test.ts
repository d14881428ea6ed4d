import { afterEach, beforeEach, expect, test } from "vitest";
import { failed } from "../../lib/target/delivery.ts";
import { at, second } from "../support/instants.ts";
import { type BeatWorld, beatWorld } from "./beat-world.ts";

/** Pulses of one second and several teams. */

let world: BeatWorld;

beforeEach(async () => {
  world = await beatWorld();
});

afterEach(() => world.stop());

const due = { every: 600, offset: 20 };

async function beat(): Promise<void> {
  await world.tick();
  await world.clock.setNow(at(20 * second));
  await world.work();
}

const ids = () => world.sent.map(({ id }) => id);

test("the pulses of a team do not wait for the pages of another team", async () => {
  // The pages of the other team come first in the order of the schedules, and no worker gets past them.
  await world.storeMany(3_000, { ...due, queue: "deadly", team: 2 });
  await world.storeMany(1, { ...due, first: 100_001, team: 1 });
  world.fate = (queue) => (queue === "deadly" ? "dies" : "taken");
  await beat();
  expect(ids()).toEqual([expect.stringMatching(`^${100_001 * 16}-`)]);
});

test("a page of pulses of several teams is sent as it is", async () => {
  // A parcel for each team would cost a small deployment many times the rows and messages.
  await world.storeMany(5, { ...due, team: 1 });
  await world.storeMany(5, { ...due, first: 101, team: 2 });
  await beat();
  expect(world.calls).toEqual([10]);
});

test("each pulse of a team with several pages is sent once, and its parcel is not divided", async () => {
  const text = "x".repeat(15_000);
  await world.storeMany(300, { ...due, team: 7, text });
  await world.storeMany(20, { every: 300, offset: 20, first: 1_001, team: 7, text });
  await beat();
  expect(new Set(ids()).size).toBe(320);
  expect(world.sent).toHaveLength(320);
  expect(world.calls.length).toBeGreaterThan(1);
  expect(world.log.lines).toEqual([]);
});

test.each([2, 31, 32, 33, 70])("each pulse of %i teams with several pages is sent once", async (teams) => {
  const each = Math.ceil(2_200 / teams);
  for (let team = 0; team < teams; team++) {
    // No interval has pulses of all teams, and the schedules of the last team are the oldest.
    const every = team % 3 === 0 ? 300 : 600;
    await world.storeMany(each, { every, offset: 20, first: 1 + (teams - team) * 2_500, team });
  }
  await beat();
  expect(new Set(ids()).size).toBe(each * teams);
  expect(world.sent).toHaveLength(each * teams);
  expect(await world.sql`select from carillon.parcels where pulse_at <= carillon.clock()`).toEqual([]);
  expect(await world.sql`select from carillon.pulses_passed`).toEqual([]);
});

test("a divided second is retried for the team whose pulses failed, and no other pulse of the target is sent twice", async () => {
  await world.storeMany(1_500, { ...due, team: 1 });
  await world.storeMany(1_500, { ...due, first: 10_001, team: 2 });
  const isOfTeam2 = (id: string) => Number(id.split("-")[0]) > 10_000 * 16;
  world.fate = (_, id) => (isOfTeam2(id) ? failed("not now") : "taken");
  await beat();
  expect(world.sent).toHaveLength(1_500);
  world.fate = () => "taken";
  await world.clock.advance(6 * second);
  await world.work();
  expect(new Set(ids()).size).toBe(3_000);
  expect(world.sent).toHaveLength(3_000);
});

test("a divided second is sent however late its parts are, since one part may have been sent", async () => {
  await world.storeMany(1_500, { ...due, team: 1 });
  await world.storeMany(1_500, { ...due, first: 10_001, team: 2 });
  await world.tick();
  await world.clock.setNow(at(20 * second));
  world.queue.outage = new Error("away");
  await world.work();
  expect(world.sent).toEqual([]);
  await world.clock.setNow(at(200 * second));
  world.queue.outage = null;
  await world.tick();
  await world.work();
  expect(new Set(ids()).size).toBe(3_000);
  expect(await world.sql`select from carillon.pulses_passed`).toEqual([]);
});

test("a part of a divided second at which each worker dies is given up for its team", async () => {
  await world.storeMany(1_500, { ...due, team: 1 });
  await world.storeMany(1_500, { ...due, first: 10_001, queue: "deadly", team: 2 });
  world.fate = (queue) => (queue === "deadly" ? "dies" : "taken");
  await beat();
  for (let deaths = 1; deaths <= 6; deaths++) {
    await world.clock.advance(70 * second);
    await world.tick();
    await world.work();
  }
  expect(world.sent).toHaveLength(1_500);
  expect(await world.sql`select team_id, reason from carillon.pulses_passed`).toEqual([
    { team_id: 2, reason: "crashed" },
  ]);
});

test("pulses that are given up with those of their team are noted for this team", async () => {
  await world.storeMany(1_500, { ...due, team: 1 });
  await world.storeMany(1_500, { ...due, first: 10_001, queue: "own", team: 2 });
  world.fate = (queue) => (queue === "own" ? failed("never", true) : "taken");
  await beat();
  expect(await world.sql`select team_id, reason, count from carillon.pulses_passed`).toEqual([
    { team_id: 2, reason: "refused", count: "1500" },
  ]);
});
