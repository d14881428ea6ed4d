import { afterEach, beforeEach, expect, test } from "vitest";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { sweep } from "../../lib/parcel/sweep.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  await world.sql`select carillon.note_grouped(array['handler/digest'], array[true])`;
});

afterEach(() => world.stop());

/** The keys of the jobs that a claim of this key's parcel returns together. */
async function claimedKeys(key: string): Promise<string[]> {
  const [job] = await world.jobs(key);
  const parcel = await claimParcel(world.sql, job?.parcelId ?? "0", 30 * second);
  if (parcel.outcome !== "claimed") throw new Error(`The parcel of ${key} is ${parcel.outcome}.`);
  return parcel.jobs.map((each) => each.key).sort();
}

/**
 * Two jobs of a group have killed their worker, and are to be tried alone; a third one came due
 * meanwhile.
 */
beforeEach(async () => {
  for (const [key, dueAt] of Object.entries({ a: at(minute), b: at(minute), c: at(minute + 20 * second) }))
    await world.put(key, {
      when: `at ${dueAt.toISOString()}`,
      target: { handler: "digest" },
      group: "person:1",
    });
  await world.tick();
  await world.clock.setNow(at(minute));
  expect(await claimedKeys("a")).toEqual(["a", "b"]);
  await world.clock.advance(31 * second);
  await sweep(world.sql, world.log);
});

test("a group's job that killed its worker is tried alone, though others of its group are due", async () => {
  // Together with it, the others would die each time, and be charged attempts for it.
  expect(await claimedKeys("a")).toEqual(["a"]);
});

test("a claim of a group leaves out jobs that killed a worker", async () => {
  // If one of them were included, it would kill the worker of an innocent job.
  expect(await claimedKeys("c")).toEqual(["c"]);
});
