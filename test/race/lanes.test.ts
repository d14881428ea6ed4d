import { expect, test } from "vitest";
import { connect } from "../../lib/db/connect.ts";
import { testDatabase } from "../support/database.ts";
import { seedOfRun } from "../support/seed.ts";
import { laneRace } from "./lane-race.ts";

const fixedSeed = 11;
/** Enough jobs that some wait for each other, and some are skipped for another. */
const volume = {
  atFirst: { "queue made": 150, "skip succeeded": 3, "skip skipped": 11 },
  killed: 30,
  deaths: 3,
};

test.each([
  // A settle passes the lane to the next job. The sweep of the lanes is only a safety net, and no
  // job may need it.
  ["without the sweep of the lanes", fixedSeed, false],
  ["with the sweep of the lanes", seedOfRun, true],
])(
  "jobs of a lane run one at a time and in order, none is lost and none is stuck, under races and deaths (%s, seed %i)",
  async (_, seed, swept) => {
    const database = await testDatabase();
    if (!swept) await withoutSweepOfLanes(database.url);
    const { ended, killed, deaths, violations } = await laneRace(database.url, seed, volume);
    const line = `seed ${seed}: ${JSON.stringify(ended)}, ${killed} connections killed, ${deaths} workers dead`;
    expect(violations.slice(0, 20), line).toEqual([]);
    expect(ended["queue succeeded"], line).toBeGreaterThan(100);
    await database.drop();
  },
  480_000,
);

async function withoutSweepOfLanes(databaseUrl: string): Promise<void> {
  const sql = connect({ DATABASE_URL: databaseUrl }, { max: 1 });
  await sql.unsafe(`
    create or replace function carillon.sweep_lanes(p_max int) returns table (looked int, id bigint, queue carillon.queue_class)
      language sql as $$ select 0, null::bigint, null::carillon.queue_class $$`);
  await sql.end();
}
