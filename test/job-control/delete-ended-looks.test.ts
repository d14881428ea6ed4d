import { afterEach, beforeEach, expect, test } from "vitest";
import { cancelJob } from "../../lib/edit/cancel-jobs.ts";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import { deleteEnded } from "../../lib/job-control/delete-ended.ts";
import { fireNow } from "../../lib/job-control/fire-now.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { hour, minute, second } from "../support/instants.ts";

/** A check may come early or late: a schedule is deleted only if it has ended. */

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const caller = { name: "ann" };
const deps = () => ({ sql: world.sql, queue: world.queue });
const exists = async (key: string) => (await readSchedule(world.sql, key)) !== null;
const once = { when: "in 2m", deleteOnEnd: true };

/** Makes the checks of all schedules due, and returns the number of deleted schedules. */
async function check(): Promise<number> {
  await world.sql`
    update carillon.schedules set end_look_at = carillon.clock() - interval '1 minute' where end_look_at is not null`;
  const note = (error: unknown) => {
    throw error;
  };
  return deleteEnded(world, { timeIsUp: () => false, note });
}

test("a schedule whose only job is cancelled stays until the job's due time, so that the job can be retried", async () => {
  await world.put("one", once);
  await world.tick();
  const [row] = await world.sql<{ id: string }[]>`
    select schedule_id || '-' || (extract(epoch from occurrence) * 1000)::bigint || '-c0' as id from carillon.jobs`;
  await cancelJob(deps(), { id: row?.id ?? "", caller });
  expect(await check()).toBe(0);
  await world.clock.advance(2 * minute);
  expect(await check()).toBe(1);
});

test("a schedule whose only run is over stays while a manual job waits", async () => {
  // Otherwise the fire is answered with a job that never runs.
  await world.put("one", once);
  await world.tick();
  await world.clock.advance(2 * minute);
  await world.work();
  await fireNow(deps(), { key: "one", caller });
  expect(await check()).toBe(0);
  await world.work();
  expect(world.delivered).toHaveLength(2);
});

test("a schedule whose only run is over stays while it is held", async () => {
  await world.put("one", once);
  await world.tick();
  await world.clock.advance(2 * minute);
  await world.work();
  await world.pause("one");
  expect(await check()).toBe(0);
  expect(await exists("one")).toBe(true);
});

test("a schedule that has run once stays when an edit gives it another time", async () => {
  // Otherwise the requested run is lost.
  await world.put("one", once);
  await world.tick();
  await world.clock.advance(2 * minute);
  await world.work();
  await world.clock.advance(second);
  await world.put("one", { ...once, when: "in 1h" });
  expect(await check()).toBe(0);
  await world.clock.advance(hour);
  await world.tick();
  await world.work();
  expect(world.delivered).toHaveLength(2);
});
