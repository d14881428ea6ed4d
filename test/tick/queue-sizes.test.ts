import { afterEach, beforeEach, expect, test } from "vitest";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, second } from "../support/instants.ts";
import { queues } from "../support/statistics.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});
afterEach(() => world.stop());

/** Inserts a thousand parcels, deletes all but `left`, and analyzes the tables. */
async function analyzedWith(left: number): Promise<void> {
  await world.sql`
    insert into carillon.parcels (shard, queue, ready_at, offer_at, occurrences, schedule_ids)
    select 0, 'fast', 'infinity', carillon.clock() + i * interval '1 hour', array[carillon.clock()], '{1}' from generate_series(1, 1000) i`;
  await world.sql`delete from carillon.parcels where id not in (select id from carillon.parcels order by id limit ${left})`;
  await world.sql`analyze carillon.parcels, carillon.schedules`;
}

async function told(relation: string): Promise<number> {
  const [row] = await world.sql<{ told: number }[]>`
    select reltuples::int as told from pg_class where oid = ${`carillon.${relation}`}::regclass`;
  return row?.told ?? Number.NaN;
}

test("A tick resets the planner's row counts of queue tables that were counted while empty, and no others", async () => {
  await analyzedWith(2);
  expect([await told("parcels"), await told("parcels_offer"), await told("schedules")]).toEqual([2, 2, 0]);
  await world.tick();
  expect([await told("parcels"), await told("parcels_offer"), await told("schedules")]).toEqual([-1, -1, 0]);
});

test("A tick skips the reset of row counts during a vacuum, does its other work, and the next tick resets", async () => {
  await analyzedWith(0);
  await world.put("a", { when: `at ${at(second).toISOString()}`, target: { handler: "greet" } });
  await world.sql.begin(async (tx) => {
    await tx`lock table carillon.parcels in share update exclusive mode`;
    const { jobs } = await world.tick();
    expect(jobs).toBe(1);
    expect(await told("parcels")).toBe(0);
  });
  await world.tick();
  expect(await told("parcels")).toBe(-1);
});

test("A queue table under vacuum does not stop the reset of the row counts of the others", async () => {
  await analyzedWith(2);
  await world.sql`insert into carillon.target_work (target_id, jobs, ms) select 1, 1, 1 from generate_series(1, 1000)`;
  await world.sql`delete from carillon.target_work`;
  await world.sql`analyze carillon.target_work`;
  await world.sql.begin(async (tx) => {
    await tx`lock table carillon.target_work in share update exclusive mode`;
    await world.tick();
  });
  expect([await told("parcels"), await told("target_work")]).toEqual([-1, 0]);
});

test("An analyze of the queue tables keeps no statistics of their columns", async () => {
  await analyzedWith(2);
  const rows = await world.sql<{ name: string }[]>`
    select c.relname || '.' || a.attname as name from pg_attribute a join pg_class c on c.oid = a.attrelid
    where c.relnamespace = 'carillon'::regnamespace and c.relname = any(${queues}::text[]) and a.attnum > 0 and not a.attisdropped
      and a.attstattarget is distinct from 0`;
  expect(rows).toEqual([]);
  expect(
    await world.sql`select from pg_stats where schemaname = 'carillon' and tablename = 'parcels'`,
  ).toEqual([]);
});

test("A row count of a queue table that was taken with rows in it stays", async () => {
  await analyzedWith(500);
  await world.tick();
  expect(await told("parcels")).toBe(500);
});

test("Autovacuum does not count the rows of the queue tables", async () => {
  const rows = await world.sql<{ name: string }[]>`
    select relname as name from pg_class
    where relnamespace = 'carillon'::regnamespace and 'autovacuum_analyze_threshold=2147483647' = any(reloptions) order by 1`;
  expect(rows.map(({ name }) => name)).toEqual(queues);
});
