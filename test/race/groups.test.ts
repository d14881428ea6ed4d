import { expect, test } from "vitest";
import { connect } from "../../lib/db/connect.ts";
import { testDatabase } from "../support/database.ts";
import { seedOfRun } from "../support/seed.ts";
import { groupRace } from "./group-race.ts";

const fixedSeed = 23;
/** Enough jobs that some wait for each other and some run together. */
const volume = {
  atFirst: { "group/one made": 45, "grouped/gather/red made": 60 },
  together: 3,
  killed: 20,
  deaths: 2,
};

test.each([
  // A settle passes the lane to the next job. The sweep of the lanes is only a safety net, and no
  // job may need it.
  ["without the sweep of the lanes", fixedSeed, false],
  ["with the sweep of the lanes, and with schedules that come and go", seedOfRun, true],
])(
  "jobs of a group run one at a time and in order, or together in one call, across shards, under races and deaths (%s, seed %i)",
  async (_, seed, whole) => {
    const database = await testDatabase();
    if (!whole) await withoutSweepOfLanes(database.url);
    const { ended, together, killed, deaths, violations } = await groupRace(database.url, seed, {
      volume,
      wandering: whole,
    });
    const line = `seed ${seed}: ${JSON.stringify(ended)}, up to ${together} together, ${killed} connections killed, ${deaths} workers dead`;
    expect(violations.slice(0, 20), line).toEqual([]);
    expect(ended["group/one succeeded"], line).toBeGreaterThan(20);
    expect(ended["grouped/gather/red succeeded"], line).toBeGreaterThan(20);
    await database.drop();
  },
  240_000,
);

async function withoutSweepOfLanes(databaseUrl: string): Promise<void> {
  const sql = connect({ DATABASE_URL: databaseUrl }, { max: 1 });
  await sql.unsafe(`
    create or replace function carillon.sweep_lanes(p_max int) returns table (looked int, id bigint, queue carillon.queue_class)
      language sql as $$ select 0, null::bigint, null::carillon.queue_class $$`);
  await sql.end();
}
