import { expect, test } from "vitest";
import { connect } from "../../lib/db/connect.ts";
import { testDatabase } from "../support/database.ts";
import { groupRace } from "./group-race.ts";

const fixedSeed = 23;
const anySeed = Math.floor(Math.random() * 1_000_000);

test.each([
  // Whoever is handed the lane is told by the one before: the sweep of the lanes is a safety net that nobody needs.
  ["without the sweep of the lanes", fixedSeed, false],
  ["as it is, with schedules that come and go", anySeed, true],
])(
  "jobs of a group run one at a time and in order, or together and alone, over shards, whatever races and dies (%s, seed %i)",
  async (_, seed, whole) => {
    const database = await testDatabase();
    if (!whole) await withoutSweepOfLanes(database.url);
    const { ended, together, killed, deaths, violations } = await groupRace(database.url, seed, {
      ms: 3_000,
      wandering: whole,
    });
    const line = `seed ${seed}: ${JSON.stringify(ended)}, up to ${together} together, ${killed} connections killed, ${deaths} workers dead`;
    process.stdout.write(`${line}\n`);
    expect(violations.slice(0, 20), line).toEqual([]);
    expect(ended["group/one succeeded"]).toBeGreaterThan(20);
    expect(ended["grouped/gather/red succeeded"]).toBeGreaterThan(20);
    expect(together).toBeGreaterThan(2);
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
