import { afterEach, beforeEach, expect, test } from "vitest";
import { setLimits } from "../../lib/limit/limits.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { due, dueOnce, ids, lease, workerOf } from "./limit-world.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

test("a limit splits a parcel without the job that another worker already has in another parcel", async () => {
  await dueOnce(world, "a", 3);
  await world.tick();
  await world.clock.setNow(due);
  const [whole = ""] = await ids(world);
  // The state after an edit: the job is listed by both parcels, and belongs to the one that its row
  // names.
  const [moved] = await world.sql<{ id: string; parcel: string }[]>`
    with made as (
      insert into carillon.parcels (shard, queue, ready_at, offer_at, target_id, lease_until, claimed_at, occurrences, schedule_ids)
      select shard, queue, ready_at, offer_at, target_id, ${due}::timestamptz + ${lease} * interval '1 ms', ${due}, occurrences[3:3], schedule_ids[3:3]
      from carillon.parcels where id = ${whole} returning id, schedule_ids[1] as schedule_id)
    update carillon.jobs j set parcel_id = m.id from made m where j.schedule_id = m.schedule_id returning j.schedule_id as id, m.id as parcel`;
  await setLimits(world, {
    target: "handler/a",
    limits: { concurrency: null, rate: { count: 2, perMs: 1_000 } },
    caller: { name: "ann" },
  });
  const claimed = await workerOf(world).claimed(whole);
  expect(claimed.jobs.map(({ key }) => key)).toEqual(["a-000", "a-001"]);
  // If it were taken, the job would run a second time, and the settle of the first run would not
  // find it.
  expect(
    await world.sql`select parcel_id as parcel from carillon.jobs where schedule_id = ${moved?.id ?? "0"}`,
  ).toEqual([{ parcel: moved?.parcel }]);
});
