import { afterEach, beforeEach, expect, test } from "vitest";
import { applyOperations } from "../../lib/batch/apply-operations.ts";
import type { Operation } from "../../lib/batch/operation.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const caller = { name: "ann" };
const instants = Array.from({ length: 40 }, (_, index) => index + 1);

/**
 * Creates one schedule for each of these shards and each millisecond after the minute, with its job
 * made ahead.
 */
async function oncePerMillisecond(name: string, shards: readonly number[]): Promise<string[]> {
  const made = shards.flatMap((shard) =>
    instants.map((ms) => ({ shard, ms, key: `${name}:${shard}:${ms}` })),
  );
  for (const { key, ms, shard } of made) {
    await world.put(key, { when: `at ${at(minute + ms).toISOString()}` });
    await world.sql`update carillon.schedules set shard = ${shard} where key = ${key}`;
    await world.sql`
      update carillon.plan set shard = ${shard} where schedule_id = (select id from carillon.schedules where key = ${key})`;
  }
  return made.map(({ key }) => key);
}

/** From now on each call of the clock returns a millisecond more. */
async function stepTheClock(from: Date): Promise<void> {
  await world.sql.unsafe(`
    create sequence if not exists public.clock_calls;
    alter sequence public.clock_calls restart;
    create or replace function carillon.clock() returns timestamptz language sql volatile
      as $$ select timestamptz '${from.toISOString()}' + nextval('public.clock_calls') * interval '1 millisecond' $$`);
}

// The clock was once read with each shard's row: between two reads it could pass an occurrence, and
// the batch withdrew its job and planned none.
test("a batch over several shards loses no occurrence that becomes due while it reads the shards", async () => {
  // Postgres may read the rows of the shards in either order.
  const batches = [await oncePerMillisecond("up", [0, 15]), await oncePerMillisecond("down", [15, 0])];
  await world.tick();
  expect(await world.jobs()).toHaveLength(batches.flat().length);
  for (const keys of batches) {
    await stepTheClock(at(minute));
    const patches = keys.map((key): Operation => ({ kind: "patch", key, caller, patch: { payload: 1 } }));
    await applyOperations({ sql: world.sql, queue: world.queue }, patches);
  }
  const kept = new Set((await world.jobs()).map(({ key }) => key));
  expect(batches.flat().filter((key) => !kept.has(key))).toEqual([]);
});
