import { afterEach, beforeEach, expect, test } from "vitest";
import { setLimits } from "../../lib/limit/limits.ts";
import { spreadParcels } from "../../lib/limit/target-limits.ts";
import { fireShardBatch } from "../../lib/tick/fire/shard-batch.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { second } from "../support/instants.ts";
import { due, dueOnce, parcels, workerOf } from "./limit-world.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

test("the spread of a tick's parcels over their target's rate leaves out parcels that a worker has claimed meanwhile", async () => {
  // Otherwise a running parcel is sent a second time, and the message occupies a worker for
  // nothing.
  const limits = { concurrency: null, rate: { count: 10, perMs: second } };
  await setLimits(world, { target: "handler/a", limits, caller: { name: "ann" } });
  await dueOnce(world, "a", 30);
  await world.sql`update carillon.schedules set shard = 0`;
  await world.sql`update carillon.plan set shard = 0`;
  const made = await fireShardBatch(world.sql, 0, 100, world.queue.timing);
  const [claimed = "", ...others] = made.parcels.map(({ id }) => id);
  await world.clock.setNow(due);
  await workerOf(world).claimed(claimed);
  const before = (await parcels(world)).find(({ id }) => id === claimed);
  const spread = await spreadParcels(world.sql, made.parcels);
  expect(spread.map(({ id }) => id)).toEqual(others);
  expect((await parcels(world)).find(({ id }) => id === claimed)).toEqual(before);
});
