import { afterEach, beforeEach, expect, test } from "vitest";
import { BatchFailed, fireShardBatch } from "../../lib/tick/fire/shard-batch.ts";
import { standingTiming } from "../../lib/tools/testing/standing-timing.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { hour, minute, second } from "../support/instants.ts";

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

/** A machine on which unfolding one cadence takes this long. */
function slow(ms: number): () => number {
  let at = 0;
  return () => {
    at += ms;
    return at;
  };
}

const batch = (rowsMax: number, cpu: () => number) =>
  fireShardBatch(world.sql, 3, rowsMax, world.queue.timing, { cpu });

test("A batch whose cadences take too long to unfold is rolled back", async () => {
  const failed = await batch(5_000, slow(0.2 * second)).catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(BatchFailed);
  expect(failed).toMatchObject({ cause: { name: "UnfoldingTooLong" } });
  expect(await world.jobs()).toEqual([]);
});

test("A batch of one row is never rolled back because it takes too long", async () => {
  const { jobs } = await batch(1, slow(60 * second));
  expect(jobs).toBeGreaterThan(0);
});

test("A shard whose cadences take long is fired to its end in one tick, in smaller batches, and no row is set aside", async () => {
  world.more.tick = { cpu: slow(0.2 * second) };
  const { finished } = await world.tick();
  expect(finished).toBe(true);
  const made = (await world.jobs()).filter(({ state }) => state !== "skipped");
  expect(new Set(made.map(({ key }) => key)).size).toBe(12);
  expect(await world.sql`select from carillon.quarantine`).toEqual([]);
});

/** Writing a job of this schedule hangs while another session has the lock. */
async function hangOn(key: string): Promise<void> {
  const [hung] = await world.sql<{ id: string }[]>`select id from carillon.schedules where key = ${key}`;
  await world.sql.unsafe(`
    create or replace function carillon.test_hang() returns trigger language plpgsql as
      $$ begin perform pg_advisory_xact_lock(77, 77); return new; end $$;
    create trigger test_hang before insert on carillon.jobs for each row when (new.schedule_id = ${hung?.id})
      execute function carillon.test_hang()`);
}

const whileHung = (act: () => Promise<void>) =>
  world.sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(77, 77)`;
    await act();
  });

test("A batch that hangs on a row is cancelled, and retried with fewer rows", async () => {
  await hangOn("each:7");
  await whileHung(async () => {
    const failed = await fireShardBatch(world.sql, 3, 5_000, standingTiming(world.clock), {
      mostMs: 100,
    }).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(BatchFailed);
    expect(failed).toMatchObject({ cause: { code: "57014" } });
    const { jobs } = await fireShardBatch(world.sql, 3, 1, standingTiming(world.clock), { mostMs: 5_000 });
    expect(jobs).toBeGreaterThan(0);
  });
});

test("A schedule in quarantine whose retry hangs does not stop the retries of others", async () => {
  await world.sql`update carillon.cadences set timezone = 'Mars/Olympus_Mons' where expression in ('7 * * * *', '8 * * * *')`;
  await world.tick();
  const aside = () => world.sql`select schedule_id from carillon.quarantine`;
  expect(await aside()).toHaveLength(2);
  await world.sql`update carillon.cadences set timezone = 'UTC'`;
  await hangOn("each:7");
  await world.clock.advance(minute);
  await whileHung(async () => {
    await world.tick();
    expect(await world.jobs("each:7")).toEqual([]);
    expect(await world.jobs("each:8")).not.toEqual([]);
    expect(await aside()).toHaveLength(1);
  });
});
