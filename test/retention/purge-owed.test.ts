import { afterEach, beforeEach, expect, test } from "vitest";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, day, hour, minute } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const retentionDays = 2;
/** A day without other jobs: a day with a waiting job keeps all schedules that had jobs on it. */
const later = at(9 * day);

async function ticks(count: number, apart: number): Promise<void> {
  for (let each = 0; each < count; each++) {
    await world.tick({ retentionDays });
    await world.work();
    await world.clock.advance(apart);
  }
}

test("a schedule that is over is kept while it has an occurrence in the backlog, or a parcel that waits for the end of its hold", async () => {
  for (const key of ["done", "held", "owed"]) await world.put(key, { when: "in 1m" });
  await ticks(3, minute);
  await world.sql`
    insert into carillon.backlog (schedule_id, shard, kind, version, occurrences, dues, turn_at, noted_at)
    select id, shard, 'cadence', version, array[${later}::timestamptz], array[${later}::timestamptz], 'infinity', carillon.clock()
    from carillon.schedules where key = 'owed'`;
  await world.sql`
    insert into carillon.parcels (ready_at, offer_at, shard, queue, occurrences, schedule_ids, held_schedule)
    select 'infinity', 'infinity', shard, queue, array[${later}]::timestamptz[], array[id], id
    from carillon.schedules where key = 'held'`;
  await ticks(12, 12 * hour);
  // Otherwise the remaining work would belong to a purged schedule, and be lost unreported.
  const kept = await world.sql<{ key: string }[]>`select key from carillon.schedules order by key`;
  expect(kept.map(({ key }) => key)).toEqual(["held", "owed"]);
});
