import { afterEach, beforeEach, expect, test } from "vitest";
import { jobId } from "../../lib/job/job-id.ts";
import { retryJobs } from "../../lib/job-control/retry-jobs.ts";
import { failed } from "../../lib/target/delivery.ts";
import { at, hour, minute } from "../support/instants.ts";
import { again, handler, type RecheckWorld, recheckWorld } from "./recheck-world.ts";

let world: RecheckWorld;

beforeEach(async () => {
  world = await recheckWorld();
});

afterEach(() => world.stop());

const keys = ["edited", "other"];

/** A dead recheck of each schedule; both are retried and share one parcel. */
async function inOneParcel(): Promise<void> {
  for (const key of keys) {
    world.answers.set(key, [again(hour), failed("The shop does not answer.", true)]);
    await world.put(key, { when: "in 10m", ...handler });
  }
  await world.sql`update carillon.schedules set shard = 0`;
  await world.sql`update carillon.plan set shard = 0`;
  await world.workAt(10 * minute);
  await world.workAt(hour);
  const schedules = await Promise.all(keys.map(world.read));
  const jobs = schedules.map(({ id }) => ({
    key: { scheduleId: id, occurrence: at(hour), kind: "again" as const, n: 0 },
    afterMs: 0,
  }));
  const { sql, queue } = world;
  const outcomes = await retryJobs({ sql, queue }, jobs, { caller: { name: "ann" }, detail: {} });
  expect(jobs.map(({ key }) => outcomes.get(jobId(key)))).toEqual(["retried", "retried"]);
  expect(await world.sql`select from carillon.parcels`).toHaveLength(1);
}

test("An edit that ends a recheck leaves the parcel to the rechecks of other schedules in it", async () => {
  // Otherwise the other schedule's recheck is in no parcel: it waits for ever, and no sweep finds
  // it.
  await inOneParcel();
  await world.put("edited", { when: "in 9h", ...handler });
  world.delivered = [];
  await world.workAt(hour + minute);
  expect(world.delivered.map(({ key }) => key)).toEqual(["other"]);
  expect((await world.history("other")).at(0)).toMatchObject({ kind: "again", state: "succeeded" });
});
