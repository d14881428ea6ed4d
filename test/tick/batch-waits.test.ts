import { afterEach, beforeEach, expect, test } from "vitest";
import { fireShardBatch } from "../../lib/tick/fire/shard-batch.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute, second } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

test("A batch returns how long its parcels have to wait from its commit on, however long the commit took", async () => {
  await world.put("soon", { when: "in 4m" });
  const [stored] = await world.sql<{ shard: number }[]>`select shard from carillon.schedules`;
  await world.clock.advance(2 * minute);
  let at = 0;
  // Each read of the clock advances it by 700 ms: before the shard is read, and from then to the
  // end.
  const timing = { now: () => (at += 700), sleep: async () => {} };
  const { parcels } = await fireShardBatch(world.sql, stored?.shard ?? -1, 100, timing);
  expect(parcels).toMatchObject([{ waitMs: 2 * minute - 0.7 * second }]);
});
