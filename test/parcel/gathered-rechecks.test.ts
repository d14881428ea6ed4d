import { afterEach, beforeEach, expect, test } from "vitest";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { again } from "../history/recheck-world.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  await world.sql`select carillon.note_grouped(array['handler/digest'], array[true])`;
});

afterEach(() => world.stop());

const putDue = (key: string, ms: number) =>
  world.put(key, { when: `at ${at(ms).toISOString()}`, target: { handler: "digest" }, group: "person:1" });

async function claimedKeys(key: string): Promise<string[]> {
  const [job] = await world.jobs(key);
  const parcel = await claimParcel(world.sql, job?.parcelId ?? "0", 30 * second);
  if (parcel.outcome !== "claimed") throw new Error(`The parcel of ${key} is ${parcel.outcome}.`);
  return parcel.jobs.map((each) => each.key).sort();
}

const recheck = async () => {
  const [job] = await world.sql<{ state: string; reason: string | null; isListed: boolean }[]>`
    select state, reason, exists (select from carillon.parcels p where p.id = j.parcel_id) as "isListed"
    from carillon.jobs j where kind = 'again'`;
  return job;
};

test("a claim of a group leaves a recheck whose settings are out of date to its own parcel", async () => {
  await putDue("a", minute);
  world.outcome = () => again(2 * minute);
  await world.tick();
  await world.clock.setNow(at(minute));
  await world.work();
  expect(await recheck()).toMatchObject({ state: "waiting" });
  await putDue("b", 2 * minute);
  await world.tick();
  await world.clock.setNow(at(2 * minute + second));
  // The state after an edit that could not end the recheck because it was running.
  await world.sql`update carillon.schedules set version = version + 1, fresh_version = version + 1 where key = 'a'`;
  expect(await claimedKeys("b")).toEqual(["b"]);
  const [parcel] = await world.sql`select schedule_ids from carillon.parcels where lease_until is not null`;
  expect(parcel?.["schedule_ids"]).toHaveLength(1);
  expect(await recheck()).toMatchObject({ state: "waiting", isListed: true });
});
