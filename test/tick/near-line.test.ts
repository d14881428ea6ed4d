import { afterEach, beforeEach, expect, test } from "vitest";
import { planLock } from "../../lib/db/locks.ts";
import { passIdleShards, raiseIdleLines } from "../../lib/tick/fire/idle-shards.ts";
import { fireShardBatch } from "../../lib/tick/fire/shard-batch.ts";
import { bringNear } from "../../lib/tick/housekeeping/bring-near.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, day, minute, second } from "../support/instants.ts";
import { until } from "../support/until.ts";
import { waitingLocks } from "../support/waiting-locks.ts";

/**
 * Plan rows due from the near line on wait in the far table, which no batch reads. A watermark that
 * passes the line loses them.
 */

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  // Puts all schedules into shard 1.
  await world.sql`alter table carillon.schedules alter column id set increment by 16`;
});

afterEach(() => world.stop());

const nearLine = new Date("2026-03-05T00:00:00Z");
const batch = (batchMax = 100) => fireShardBatch(world.sql, 1, batchMax, world.queue.timing);

async function shard(): Promise<{ watermarkAt: Date; reachedAt: Date; nearUntil: Date }> {
  const [row] = await world.sql<{ watermarkAt: Date; reachedAt: Date; nearUntil: Date }[]>`
    select watermark_at as "watermarkAt", reached_at as "reachedAt", near_until as "nearUntil" from carillon.shards where id = 1`;
  if (row === undefined) throw new Error("There is no shard 1.");
  return row;
}

test("A batch whose horizon is past the near line plans up to the millisecond before the line, so that the watermark passes no far row", async () => {
  await world.put("near", { when: "at 2026-03-04T23:59:00" });
  await world.put("at the line", { when: `at ${nearLine.toISOString()}` });
  await world.clock.setNow(new Date(nearLine.getTime() - minute));
  await batch();
  expect((await shard()).watermarkAt).toEqual(new Date(nearLine.getTime() - 1));
  await world.tick();
  expect((await world.jobs()).map(({ key }) => key)).toEqual(["near", "at the line"]);
});

test("Far rows are brought near under the plan lock, so only after an edit that has read the near line has written its row", async () => {
  await world.clock.advance(day);
  const bringing: Promise<unknown>[] = [];
  await world.sql.begin(async (edit) => {
    await edit`select pg_advisory_xact_lock_shared(${planLock}::int, 1)`;
    bringing.push(bringNear(world.sql, 1));
    await until("bringing near waits", async () => (await waitingLocks(world.sql, planLock)) === 1);
    await edit`insert into carillon.plan_far (due_at, occurrence, schedule_id, version, shard) values (${nearLine}, ${nearLine}, 1, 1, 1)`;
  });
  await Promise.all(bringing);
  expect(await world.sql`select due_at from carillon.plan where due_at = ${nearLine}`).toHaveLength(1);
});

test("The near line of an idle shard stays when the clock has gone back by a day", async () => {
  await world.clock.advance(day);
  await raiseIdleLines(world.sql, [1]);
  const { nearUntil } = await shard();
  await world.clock.advance(-day);
  await raiseIdleLines(world.sql, [1]);
  expect((await shard()).nearUntil).toEqual(nearUntil);
});

test("The near line is not raised while the days before the new line cannot be attached", async () => {
  await world.sql.unsafe(`
    alter function carillon.attach_days(date, date) rename to attach_days_later;
    create function carillon.attach_days(p_from date, p_to date) returns int language plpgsql as $$ begin
      raise exception 'the lock is taken' using errcode = '55P03'; end $$`);
  await world.clock.setNow(new Date(nearLine.getTime() - minute));
  await world.tick();
  expect((await shard()).nearUntil).toEqual(nearLine);
  await world.sql.unsafe(`
    drop function carillon.attach_days(date, date);
    alter function carillon.attach_days_later(date, date) rename to attach_days`);
  await world.tick();
  expect((await shard()).nearUntil.getTime()).toBeGreaterThan(nearLine.getTime());
});

/**
 * Leaves the shard with a batch unfinished: its watermark is at the first row, and what it has
 * reached is the horizon.
 */
async function unfinished(): Promise<Date> {
  for (const seconds of [10, 20, 30]) await world.put(`in-${seconds}`, { when: `in ${seconds}s` });
  await world.clock.advance(minute);
  expect((await batch(1)).done).toBe(false);
  const { watermarkAt, reachedAt } = await shard();
  expect(watermarkAt).toEqual(at(10 * second));
  return reachedAt;
}

test("The instant that a shard has reached does not fall when the clock goes back between two batches", async () => {
  const reached = await unfinished();
  await world.clock.advance(-30 * second);
  await batch(1);
  expect((await shard()).reachedAt).toEqual(reached);
});

test("The instant that an idle shard has reached does not fall when the clock goes back", async () => {
  const reached = await unfinished();
  await world.sql`delete from carillon.plan`;
  await world.clock.advance(-30 * second);
  expect(await passIdleShards(world.sql, [1])).toEqual(new Set([1]));
  expect((await shard()).reachedAt).toEqual(reached);
});
