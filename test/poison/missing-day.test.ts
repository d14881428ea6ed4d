import { afterEach, beforeEach, expect, test } from "vitest";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, day, hour, minute, second } from "../support/instants.ts";
import { quarantined } from "./poison.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

/** Drops every table of the day of jobs, as a mistake in the database may. */
async function loseDay(name: string): Promise<void> {
  for (const table of ["jobs", "attempts", "jobs_beside", "dead_jobs"])
    await world.sql.unsafe(`drop table carillon.${table}_${name}`);
}

const today = "20260302";
const tomorrow = "20260303";

const ran = async (key: string) =>
  (await world.jobs(key)).filter(({ state }) => state !== "skipped").map(({ occurrence }) => occurrence);

test("A tick that finds a day of jobs missing attaches the day, and fires its jobs", async () => {
  await world.put("today", { when: "in 2m" });
  await world.put("tomorrow", { when: "at 2026-03-03T10:00" });
  await loseDay(today);
  await world.tick();
  expect(await ran("today")).toEqual([at(2 * minute)]);
  await loseDay(tomorrow);
  await world.clock.setNow(at(day - minute));
  await world.tick();
  expect(await ran("tomorrow")).toEqual([at(day)]);
});

test("Catch-up over a missing day of jobs runs every occurrence, at once or through the backlog", async () => {
  for (const key of ["all", "owing"])
    await world.put(key, { when: "0 */6 * * *", catchUp: { policy: "all" }, target: { queue: key } });
  await world.tick();
  await world.clock.advance(2 * day);
  await loseDay(tomorrow);
  await world.tick();
  for (const key of ["all", "owing"]) expect(await ran(key)).toHaveLength(8);
});

test("Occurrences due under a hold on a missing day of jobs are released at its end, and other schedules fire", async () => {
  await world.put("held", { when: "0 */6 * * *", catchUp: { policy: "all" } });
  await world.put("free", { when: "at 2026-03-04T10:01" });
  await world.pause("held", { until: at(2 * day) });
  await world.clock.setNow(at(2 * day - hour));
  await world.tick();
  await loseDay(tomorrow);
  await world.clock.setNow(at(2 * day));
  await world.tick();
  expect(await ran("held")).toHaveLength(8);
  expect(await ran("free")).toHaveLength(1);
});

test("Ended schedules are deleted, also one whose day of jobs is missing", async () => {
  for (const key of ["a", "b"]) await world.put(key, { when: "in 30s", deleteOnEnd: true });
  await world.put("c", { when: "at 2026-03-03T10:00", deleteOnEnd: true });
  for (const key of ["a", "c"]) await world.patch(key, { payload: 1 });
  await world.tick();
  await world.clock.setNow(at(day));
  await world.tick();
  await world.work();
  await world.sql`update carillon.schedules set end_look_at = carillon.clock()`;
  await loseDay(today);
  await world.tick();
  expect(await world.sql`select key from carillon.schedules where deleted_at is null`).toEqual([]);
});

/**
 * One job of each of two days is due, each in a parcel of its own; then the earlier day is lost.
 */
async function dueOfTwoDays(): Promise<void> {
  await world.put("lost", { when: "at 2026-03-02T23:59:59" });
  await world.put("kept", { when: "at 2026-03-03T00:00:00" });
  await world.clock.setNow("2026-03-02T23:58:30Z");
  await world.tick();
  await world.clock.setNow("2026-03-03T00:00:00Z");
}

const parcels = () => world.sql`select from carillon.parcels`;

test("A parcel whose day of jobs is missing is dropped by its claim, and the other parcels are worked", async () => {
  await dueOfTwoDays();
  await loseDay(today);
  expect(await world.work()).toEqual([]);
  expect(world.delivered.map(({ key }) => key)).toEqual(["kept"]);
  expect(await parcels()).toEqual([]);
});

test("A parcel whose day of jobs disappears while it is worked is settled, and so are the others", async () => {
  await dueOfTwoDays();
  world.outcome = async ({ key }) => {
    if (key === "lost") await loseDay(today);
    return { kind: "done" };
  };
  expect(await world.work()).toEqual([]);
  expect(await world.jobs()).toMatchObject([{ key: "kept", state: "succeeded" }]);
  expect(await parcels()).toEqual([]);
});

test("A parcel whose day of jobs is missing when its lease ends is dropped, and the others are offered again", async () => {
  await dueOfTwoDays();
  for (const { id } of await world.sql<{ id: string }[]>`select id from carillon.parcels`)
    await claimParcel(world.sql, id, 30 * second);
  world.queue.messages = [];
  await loseDay(today);
  await world.clock.advance(minute);
  await world.tick();
  expect(await quarantined(world)).toEqual([]);
  await world.work();
  expect(world.delivered.map(({ key }) => key)).toEqual(["kept"]);
  expect(await parcels()).toEqual([]);
});

test("A recheck on a missing day of jobs attaches the day, and its parcel is settled", async () => {
  await world.put("again", { when: "in 10s" });
  await world.put("other", { when: "in 10s" });
  await world.tick();
  await world.clock.advance(10 * second);
  world.outcome = ({ key }) => (key === "again" ? { kind: "again", at: at(40 * day) } : { kind: "done" });
  expect(await world.work()).toEqual([]);
  expect(await world.jobs("again")).toMatchObject([{ state: "succeeded" }, { state: "waiting" }]);
  expect(await world.jobs("other")).toMatchObject([{ state: "succeeded" }]);
});
