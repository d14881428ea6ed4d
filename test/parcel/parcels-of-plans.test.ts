import { expect, test } from "vitest";
import type { Sql } from "../../lib/db/connect.ts";
import { describePlans } from "../support/describe-plans.ts";
import { touched } from "../support/touched.ts";

const inLanes = 60_000;
const held = 30_000;
const free = 200;

/** The first id of the parcels of each kind, whose schedules have the same ids. */
const first = { inLane: 1, held: 100_001, free: 200_001 };

/** One team's jobs that wait in the lane of one group and for holds, and the few parcels that are under way. */
async function fill(sql: Sql): Promise<void> {
  await sql`
    insert into carillon.parcels (id, shard, queue, ready_at, offer_at, lane, occurrences, schedule_ids)
    select n, n % 16, 'fast', 'infinity', 'infinity', 'group/evil:ser', array[now()], array[n::bigint]
    from generate_series(${first.inLane}::int, ${first.inLane + inLanes - 1}::int) n`;
  await sql`
    insert into carillon.parcels (id, shard, queue, ready_at, offer_at, held_schedule, occurrences, schedule_ids)
    select n, n % 16, 'fast', 'infinity', 'infinity', n, array[now()], array[n::bigint]
    from generate_series(${first.held}::int, ${first.held + held - 1}::int) n`;
  await sql`
    insert into carillon.parcels (id, shard, queue, ready_at, offer_at, occurrences, schedule_ids)
    select n, n % 16, 'fast', now(), now(), array[now(), now()], array[n::bigint, n + 1]
    from generate_series(${first.free}::int, ${first.free + free - 1}::int) n`;
}

describePlans("the parcels of one schedule among many", fill, (filled) => {
  async function read(...schedules: number[]) {
    let found: number[] = [];
    const { scanned, index } = await touched(filled.sql, async () => {
      const rows = await filled.sql<{ id: number }[]>`
        select id::float8 as id from carillon.parcels_of(${schedules}::bigint[]) p (id) order by id`;
      found = rows.map(({ id }) => id);
    });
    expect(scanned).toEqual({});
    return { found, read: Object.values(index).reduce((sum, each) => sum + each, 0) };
  }

  test("The parcels of a schedule are found in its lane, under its hold, and wherever one of its jobs is", async () => {
    expect((await read(7)).found).toEqual([7]);
    expect((await read(first.held + 3)).found).toEqual([first.held + 3]);
    expect((await read(first.free + 5)).found).toEqual([first.free + 4, first.free + 5]);
    expect((await read(7, first.held, first.free)).found).toEqual([7, first.held, first.free]);
    expect((await read(999_999)).found).toEqual([]);
  });

  test("The parcels of a schedule are found without a look at those that wait in lanes", async () => {
    const { read: entries } = await read(7);
    expect(entries).toBeLessThan(held + free + 10);
    expect(entries).toBeGreaterThanOrEqual(free);
  });
});
