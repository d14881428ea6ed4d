import { afterEach, beforeEach, expect, test } from "vitest";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, second } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});
afterEach(() => world.stop());

/** So many parcels have come and gone, and somebody analyzes what is left. */
async function analyzedEmpty(): Promise<void> {
  await world.sql`
    insert into carillon.parcels (shard, queue, ready_at, offer_at, occurrences, schedule_ids)
    select 0, 'fast', carillon.clock(), carillon.clock(), array[carillon.clock()], '{1}' from generate_series(1, 1000)`;
  await world.sql`delete from carillon.parcels`;
  await world.sql`analyze carillon.parcels, carillon.schedules`;
}

async function told(relation: string): Promise<number> {
  const [row] = await world.sql<{ told: number }[]>`
    select reltuples::int as told from pg_class where oid = ${`carillon.${relation}`}::regclass`;
  return row?.told ?? Number.NaN;
}

test("a tick has the planner forget the size of queues, and of nothing else", async () => {
  await analyzedEmpty();
  expect([await told("parcels"), await told("parcels_pkey"), await told("schedules")]).toEqual([0, 0, 0]);
  await world.tick();
  expect([await told("parcels"), await told("parcels_pkey"), await told("schedules")]).toEqual([-1, -1, 0]);
});

test("not while somebody vacuums, which keeps the tick from nothing; the next one does", async () => {
  await analyzedEmpty();
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

test("autovacuum does not count them", async () => {
  const rows = await world.sql<{ name: string }[]>`
    select relname as name from pg_class
    where relnamespace = 'carillon'::regnamespace and 'autovacuum_analyze_threshold=2147483647' = any(reloptions) order by 1`;
  expect(rows.map(({ name }) => name)).toEqual([
    "backlog",
    "inbox",
    "lane_entries",
    "outbox",
    "parcels",
    "target_work",
  ]);
});
