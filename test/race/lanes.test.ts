import { expect, test } from "vitest";
import { connect } from "../../lib/db/connect.ts";
import { testDatabase } from "../support/database.ts";
import { laneRace } from "./lane-race.ts";

const fixedSeed = 11;
const anySeed = Math.floor(Math.random() * 1_000_000);

test.each([
  // Whoever is handed the lane is told by the one before: the sweep of the lanes is a safety net that nobody needs.
  ["without the sweep of the lanes", fixedSeed, false],
  ["as it is", anySeed, true],
])(
  "jobs of a lane run one at a time and in order, none is lost and none is stuck, whatever races and dies (%s, seed %i)",
  async (_, seed, swept) => {
    const database = await testDatabase();
    if (!swept) await withoutSweepOfLanes(database.url);
    const { ended, killed, deaths, violations } = await laneRace(database.url, seed, 4_000);
    const line = `seed ${seed}: ${JSON.stringify(ended)}, ${killed} connections killed, ${deaths} workers dead`;
    process.stdout.write(`${line}\n`);
    expect(violations.slice(0, 20), line).toEqual([]);
    // So many that something raced, on a slow machine too.
    expect(ended["queue succeeded"]).toBeGreaterThan(100);
    expect(ended["skip succeeded"]).toBeGreaterThan(2);
    expect(ended["skip skipped"]).toBeGreaterThan(10);
    await database.drop();
  },
  120_000,
);

async function withoutSweepOfLanes(databaseUrl: string): Promise<void> {
  const sql = connect({ DATABASE_URL: databaseUrl }, { max: 1 });
  await sql.unsafe(`
    create or replace function carillon.sweep_lanes(p_max int) returns table (looked int, id bigint, queue carillon.queue_class)
      language sql as $$ select 0, null::bigint, null::carillon.queue_class $$`);
  await sql.end();
}
