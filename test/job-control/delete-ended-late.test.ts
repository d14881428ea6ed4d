import { afterEach, beforeEach, expect, test } from "vitest";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import { deleteEnded } from "../../lib/job-control/delete-ended.ts";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { settleParcel } from "../../lib/parcel/settle.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";

/** An ended schedule with `deleteOnEnd` stays while one of its jobs is still open. */

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const exists = async (key: string) => (await readSchedule(world.sql, key)) !== null;

const parcelOf = async (key: string) => (await world.jobs(key))[0]?.parcelId ?? "0";

/** Makes the checks of all schedules due, and returns the number of deleted schedules. */
async function check(): Promise<number> {
  await world.sql`
    update carillon.schedules set end_look_at = carillon.clock() - interval '1 minute' where end_look_at is not null`;
  const note = (error: unknown) => {
    throw error;
  };
  return deleteEnded(world, { timeIsUp: () => false, note });
}

test("an ended schedule stays while its group still runs a job of its earlier cadence in another shard's parcel", async () => {
  // Otherwise the schedule is deleted during the run, and a retry of it is cancelled instead.
  await world.sql`select carillon.note_grouped(array['handler/digest'], array[true])`;
  const digest = { when: `at ${at(10 * second).toISOString()}`, target: { handler: "digest" }, group: "g" };
  await world.put("first", digest);
  await world.put("ends", { ...digest, deleteOnEnd: true });
  for (const [key, shard] of Object.entries({ first: 1, ends: 2 }))
    await world.sql`
      with moved as (update carillon.schedules set shard = ${shard} where key = ${key} returning id)
      update carillon.plan set shard = ${shard} where schedule_id = (select id from moved)`;
  await world.tick();
  world.queue.messages = [];
  await world.clock.setNow(at(10 * second));
  const left = await parcelOf("ends");
  const run = await claimParcel(world.sql, await parcelOf("first"), 10 * minute);
  if (run.outcome !== "claimed") throw new Error(`The parcel is ${run.outcome}.`);
  expect(run.jobs.map(({ key }) => key).sort()).toEqual(["ends", "first"]);
  expect(await claimParcel(world.sql, left, minute)).toMatchObject({ outcome: "empty" });
  await world.patch("ends", { when: "in 20s", group: null, target: { handler: null, queue: "demo" } });
  await world.clock.advance(20 * second);
  await world.work();
  expect(await readSchedule(world.sql, "ends")).toMatchObject({ lastJob: { state: "succeeded" } });
  expect(await check()).toBe(0);
  await settleParcel(
    world.sql,
    run,
    run.jobs.map(() => ({ kind: "succeeded" as const })),
  );
  expect(await check()).toBe(1);
});

test("an ended pulse stays while its last beat may be retried", async () => {
  // Otherwise a beat that its queue did not take at first is not retried, although pulses promise
  // at least once.
  const pulse = { when: "every 1m", delivery: "pulse", target: { queue: "demo" }, deleteOnEnd: true };
  await world.put("beat", { ...pulse, endsAt: at(3 * minute).toISOString() });
  await world.tick();
  await world.clock.setNow(at(5 * minute));
  expect(await check()).toBe(0);
  expect(await exists("beat")).toBe(true);
  await world.clock.advance(20 * minute);
  expect(await check()).toBe(1);
});
