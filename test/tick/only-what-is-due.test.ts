import { afterAll, beforeAll, expect, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { fireShardBatch } from "../../lib/tick/fire/shard-batch.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute } from "../support/instants.ts";

const due = 400;

let world: Carillon;
/** One connection, whose counts are complete. */
let sql: Sql;

beforeAll(async () => {
  world = await carillon();
  sql = connect({ DATABASE_URL: world.databaseUrl }, { max: 1 });
});

afterAll(async () => {
  await sql.end();
  await world.stop();
});

/** Fills shard 0 up to this many schedules, none of them due within an hour. */
async function store(count: number): Promise<void> {
  await sql`
    with made as (
      insert into carillon.schedules (id, shard, queue, key, target_kind, created_at, created_by, updated_at, updated_by)
      select n * 16, 0, 'fast', 'k' || n, 'queue', ${at(0)}, 't', ${at(0)}, 't'
      from generate_series((select count(*) + 1 from carillon.schedules), ${count}::int) n
      returning id
    )
    insert into carillon.plan (due_at, occurrence, schedule_id, every_ms, version, shard)
    select d, d, id, 86400000, 1, 0 from made, lateral (select ${at(60 * minute)}::timestamptz + id * interval '1 ms' as d) l`;
  await sql`vacuum (analyze) carillon.schedules, carillon.plan`;
}

/** Makes schedules due at one instant, scattered over all of them. */
async function makeDue(when: Date, count: number): Promise<void> {
  await sql`
    insert into carillon.plan (due_at, occurrence, schedule_id, every_ms, version, shard)
    select ${when}, ${when}, id, 86400000, 1, 0
    from (select id, row_number() over (order by id) as place, count(*) over () as stored from carillon.schedules) s
    where place % (stored / ${count}::int) = 0 order by id desc`;
}

/** Pages of Carillon's tables and indexes that were read, in memory or not. */
async function pagesDuring(act: () => Promise<unknown>): Promise<number> {
  const before = await pages();
  await act();
  return (await pages()) - before;
}

async function pages(): Promise<number> {
  await sql`select pg_stat_force_next_flush()`;
  const [row] = await sql<{ pages: number }[]>`
    select sum(coalesce(heap_blks_read, 0) + coalesce(heap_blks_hit, 0) + coalesce(idx_blks_read, 0) + coalesce(idx_blks_hit, 0))::int as pages
    from pg_statio_user_tables where schemaname = 'carillon'`;
  return row?.pages ?? 0;
}

test("A batch reads as many pages if fifty times as many schedules are stored", async () => {
  const looked: number[] = [];
  for (const stored of [due * 2, due * 100]) {
    await store(stored);
    const now = looked.length * 10 * minute;
    await world.clock.setNow(at(now));
    await makeDue(at(now + minute), due);
    looked.push(
      await pagesDuring(async () => {
        expect(await fireShardBatch(sql, 0, 5_000, world.queue.timing)).toMatchObject({
          jobs: due,
          done: true,
        });
      }),
    );
  }
  const [few = 0, many = 0] = looked;
  expect(few).toBeGreaterThan(due);
  // The indexes have one level more, which costs a page for each lookup.
  expect(many).toBeLessThan(few + 3 * due);
});

test("A job that exists already is unchanged, and the others of its batch are made", async () => {
  const when = at(31 * minute);
  await world.clock.setNow(at(30 * minute));
  await makeDue(when, 10);
  // The occurrence is planned twice as well, as after an edit that planned it again.
  await makeDue(when, 10);
  const [first] = await sql<{ id: string }[]>`
    insert into carillon.jobs (occurrence, schedule_id, due_at, version, state, reason, finished_at)
    select ${when}, min(schedule_id), ${when}, 1, 'skipped', 'missed', ${at(0)} from carillon.plan where due_at = ${when}
    returning schedule_id as id`;
  const planned = await sql`select distinct schedule_id as id from carillon.plan where due_at = ${when}`;
  await fireShardBatch(sql, 0, 5_000, world.queue.timing);
  const jobs = await sql<{ id: string; state: string }[]>`
    select schedule_id as id, state from carillon.jobs where occurrence = ${when} order by schedule_id`;
  expect(jobs).toHaveLength(planned.length);
  expect(jobs.filter(({ state }) => state === "skipped").map(({ id }) => id)).toEqual([first?.id]);
  expect(jobs.filter(({ state }) => state === "waiting")).toHaveLength(planned.length - 1);
  expect(await fireShardBatch(sql, 0, 5_000, world.queue.timing)).toMatchObject({ jobs: 0, done: true });
});
