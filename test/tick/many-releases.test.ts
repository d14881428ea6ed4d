import { afterEach, beforeEach, expect, test } from "vitest";
import { fireShardBatch } from "../../lib/tick/shard-batch.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";
import { standingTiming } from "../support/standing-timing.ts";

let world: Carillon;
beforeEach(async () => {
  world = await carillon();
});
afterEach(() => world.stop());

const held = 250;

test("the end of a hold of many is spread over several batches", async () => {
  for (let each = 0; each < held; each++) await world.put(`each:${each}`, { when: "* * * * *" });
  await world.sql`update carillon.schedules set shard = 3`;
  await world.sql`update carillon.plan set shard = 3`;
  const until = new Date(world.clock.now().getTime() + 2 * minute);
  for (let each = 0; each < held; each++) await world.pause(`each:${each}`, { until });
  await world.clock.advance(3 * minute);
  const left = async () => {
    const [row] = await world.sql<{ left: number }[]>`
      select count(*)::int as left from carillon.plan where shard = 3 and governed and due_at <= ${until}
        and (due_at, schedule_id) > (select watermark_at, watermark_schedule from carillon.shards where id = 3)`;
    return row?.left;
  };
  expect(await left()).toBe(held);
  const first = await fireShardBatch(world.sql, 3, 5_000, standingTiming(world.clock));
  expect(first.done).toBe(false);
  expect(await left()).toBe(held - 201);
  const second = await fireShardBatch(world.sql, 3, 5_000, standingTiming(world.clock));
  expect(second.done).toBe(true);
  expect(await left()).toBe(0);
});
