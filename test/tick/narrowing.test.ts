import { afterEach, beforeEach, expect, test } from "vitest";
import { type Carillon, carillon } from "../support/carillon.ts";
import { hour } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(async () => {
  await world.stop();
});

/** Schedules of one shard, due in the order of their numbers. */
async function shardOf(count: number): Promise<void> {
  const { clock, sql } = world;
  const at = (each: number) => new Date(clock.now().getTime() + hour + each * 1_000).toISOString();
  for (let each = 1; each <= count; each++) await world.put(`row:${each}`, { when: `at ${at(each)}` });
  await sql`update carillon.schedules set shard = 3`;
  await sql`update carillon.plan set shard = 3`;
}

/**
 * Writing a job of this schedule fails as a statement does at its time limit. A sequence counts the
 * attempts, because no rollback resets it.
 */
async function hangOn(key: string): Promise<void> {
  const [hung] = await world.sql<{ id: string }[]>`select id from carillon.schedules where key = ${key}`;
  await world.sql.unsafe(`
    create sequence public.tries;
    create function public.hang() returns trigger language plpgsql security definer as $$
      begin perform nextval('public.tries'); raise exception using errcode = 'query_canceled'; end $$;
    create trigger hang before insert on carillon.jobs for each row when (new.schedule_id = ${hung?.id})
      execute function public.hang()`);
}

async function tries(): Promise<number> {
  const [row] = await world.sql<{ tries: number }[]>`select last_value::int as tries from public.tries`;
  return row?.tries ?? 0;
}

test.each([
  ["first", 5, 1, 2],
  ["in the middle", 5, 3, 2],
  ["last", 5, 5, 2],
  ["in the middle", 40, 23, 3],
])(
  "When a batch hangs on a row (%s of %i), the row is tried once for each size of the batch",
  async (_, count, bad, most) => {
    await shardOf(count);
    await hangOn(`row:${bad}`);
    await world.clock.advance(hour);
    expect(await world.tick()).toMatchObject({ finished: true, jobs: count - 1 });
    expect(await tries()).toBe(most);
    expect(
      await world.sql`select s.key from carillon.quarantine q join carillon.schedules s on s.id = q.schedule_id`,
    ).toEqual([{ key: `row:${bad}` }]);
  },
);
