import { afterEach, beforeEach, expect, test } from "vitest";
import { applyOperations } from "../../lib/batch/apply-operations.ts";
import { pauseLabel } from "../../lib/batch/label-holds.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { fireShardBatch } from "../../lib/tick/fire/shard-batch.ts";
import { standingTiming } from "../../lib/tools/testing/standing-timing.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";

let world: Carillon;
beforeEach(async () => {
  world = await carillon();
});
afterEach(() => world.stop());

const caller = { name: "ann" };

/** Schedules of one shard, held together for two minutes; returns three minutes later. */
async function heldTogether(count: number, when: string): Promise<Date> {
  const deps = { sql: world.sql, queue: world.queue };
  const body = parseScheduleBody({ when, target: { queue: "demo" }, group: "held" });
  const keys = Array.from({ length: count }, (_, each) => `each:${each}`);
  for (let at = 0; at < count; at += 1_000)
    await applyOperations(
      deps,
      keys.slice(at, at + 1_000).map((key) => ({ kind: "put", key, caller, body })),
    );
  await world.sql`update carillon.schedules set shard = 3`;
  await world.sql`update carillon.plan set shard = 3`;
  const until = new Date(world.clock.now().getTime() + 2 * minute);
  const paused = await pauseLabel(deps, { label: { scope: "group", name: "held" }, caller, until });
  expect(paused).toMatchObject({ done: count });
  await world.clock.advance(3 * minute);
  return until;
}

async function left(until: Date): Promise<number> {
  const [row] = await world.sql<{ left: number }[]>`
    select count(*)::int as left from carillon.plan where shard = 3 and governed and due_at <= ${until}
      and (due_at, schedule_id) > (select watermark_at, watermark_schedule from carillon.shards where id = 3)`;
  return row?.left ?? 0;
}

test("The end of a hold of many schedules is spread over several batches", async () => {
  const count = 2_600;
  const until = await heldTogether(count, "* * * * *");
  expect(await left(until)).toBe(count);
  const first = await fireShardBatch(world.sql, 3, 5_000, standingTiming(world.clock));
  expect(first.done).toBe(false);
  const rest = await left(until);
  expect(rest).toBeGreaterThan(0);
  expect(rest).toBeLessThan(count);
  const second = await fireShardBatch(world.sql, 3, 5_000, standingTiming(world.clock));
  expect(second.done).toBe(true);
  expect(await left(until)).toBe(0);
});

test("Each schedule that the end of a hold releases gets its own parcel, and each occurrence one job", async () => {
  await heldTogether(20, "* * * * *");
  const { parcels } = await fireShardBatch(world.sql, 3, 5_000, standingTiming(world.clock));
  const released = await world.sql`
    select p.held_schedule, array_agg(distinct k) as schedules, count(*)::int as jobs
    from carillon.parcels p cross join lateral unnest(p.schedule_ids) k where p.held_schedule is not null group by 1`;
  expect(released).toHaveLength(20);
  for (const { held_schedule: held, schedules, jobs } of released)
    expect({ schedules, jobs }).toEqual({ schedules: [held], jobs: 2 });
  expect(parcels.length).toBeGreaterThanOrEqual(20);
  const [doubled] = await world.sql`
    select from carillon.jobs group by schedule_id, occurrence, kind, n having count(*) > 1`;
  expect(doubled).toBeUndefined();
});
