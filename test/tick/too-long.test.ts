import { afterEach, beforeEach, expect, test } from "vitest";
import { BatchFailed, fireShardBatch } from "../../lib/tick/shard-batch.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { hour, second } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  for (let each = 0; each < 12; each++) await world.put(`each:${each}`, { when: `${each} * * * *` });
  await world.sql`update carillon.schedules set shard = 3`;
  await world.sql`update carillon.plan set shard = 3`;
  await world.clock.advance(3 * hour);
});

afterEach(async () => {
  await world.stop();
});

/** A machine on which unfolding one cadence takes so long. */
function slow(ms: number): () => number {
  let at = 0;
  return () => {
    at += ms;
    return at;
  };
}

const batch = (rowsMax: number, cpu: () => number) =>
  fireShardBatch(world.sql, 3, rowsMax, world.queue.timing, cpu);

test("A batch whose cadences take too long to be unfolded is rolled back", async () => {
  const failed = await batch(5_000, slow(0.2 * second)).catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(BatchFailed);
  expect(failed).toMatchObject({ cause: { name: "UnfoldingTooLong" } });
  expect(await world.jobs()).toEqual([]);
});

test("A batch of one row is never too long", async () => {
  const { jobs } = await batch(1, slow(60 * second));
  expect(jobs).toBeGreaterThan(0);
});

test("A shard whose cadences take long is fired to its end in one tick, in smaller batches, and nothing of it is set aside", async () => {
  world.more.tick = { cpu: slow(0.2 * second) };
  const { finished } = await world.tick();
  expect(finished).toBe(true);
  const made = (await world.jobs()).filter(({ state }) => state !== "skipped");
  expect(new Set(made.map(({ key }) => key)).size).toBe(12);
  expect(await world.sql`select from carillon.quarantine`).toEqual([]);
});
