import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { lookedMax } from "../../lib/history/looked-dead.ts";
import { readProblems } from "../../lib/problems/read-problems.ts";
import { waitingMax } from "../../lib/problems/set-aside.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { touched } from "../support/touched.ts";

const rows = 40_000;

let world: Carillon;
let sql: Sql;

/** Far more of everything than one answer counts. */
async function fill(): Promise<void> {
  await sql`
    insert into carillon.schedules (id, shard, queue, key, target_kind, created_at, created_by, updated_at, updated_by)
    select n, n % 16, 'slow', case when n <= 100 then 'few:' else 'many:' end || n, 'queue', carillon.clock(), 'a', carillon.clock(), 'a'
    from generate_series(1, ${rows}::int) n`;
  await sql`
    insert into carillon.dead_jobs (occurrence, schedule_id, died_at, n, kind)
    select date_trunc('day', carillon.clock()), n, carillon.clock() - n * interval '1 second', 0, 'cadence' from generate_series(1, ${rows}::int) n`;
  await sql`
    insert into carillon.quarantine (consumer, item, reason, first_at, last_at, tries, next_at, schedule_id)
    select 'plan', n, 'no', carillon.clock(), carillon.clock(), 1, carillon.clock(), n from generate_series(1, ${rows}::int) n`;
  await sql`
    insert into carillon.inbox_refusals (id, at, refused_at, caller, key, command, problem, faults)
    select n, carillon.clock(), carillon.clock(), 'shop', 'many:' || n, '{}', 'no', '[]' from generate_series(1, ${rows}::int) n`;
  await sql`
    insert into carillon.dead_commands (message_id, place, key, refused_at, refusal)
    select n, 0, 'many:' || n, carillon.clock(), '{}' from generate_series(1, ${rows}::int) n`;
  await sql`
    insert into carillon.dead_commands (message_id, place, key, queue_prefix, refused_at, refusal)
    select n, 1, 'few:' || n, 'many:', carillon.clock(), '{}' from generate_series(1, ${rows}::int) n`;
  await sql`
    insert into carillon.holds (schedule_id, owner, since)
    select n, 'a', carillon.clock() - interval '2 days' from generate_series(1, ${rows}::int) n`;
  const move = "0199f3c2-6f0e-7cc1-9d0f-6a8f5e1b2c3d";
  await sql`
    insert into carillon.moves (id, direction, prefix, peer, begun_at, begun_by)
    values (${move}, 'out', 'many:', 'https://new.example', carillon.clock(), 'a')`;
  await sql`
    insert into carillon.moved_schedules (move_id, schedule_id, part, key, doc, taken_at)
    select ${move}, n, 0, 'many:' || n, '{}', carillon.clock() - interval '1 hour' from generate_series(1, ${rows}::int) n`;
}

beforeAll(async () => {
  world = await carillon();
  await world.tick();
  sql = connect({ DATABASE_URL: world.databaseUrl }, { max: 1 });
  await fill();
});

afterAll(async () => {
  await sql.end();
  await world.stop();
});

describe.each([
  ["without statistics", false],
  ["with statistics", true],
])("problems of 40,000 rows of each kind, %s", (_, isAnalyzed) => {
  beforeAll(async () => {
    if (isAnalyzed) await sql`vacuum analyze`;
  });

  test.each([
    ["all schedules", null, lookedMax],
    ["a prefix that few schedules have", "few:", 100],
  ])("The problems of %s are counted from a bounded number of rows", async (_name, prefix, most) => {
    let counts: number[] = [];
    const seen = await touched(sql, async () => {
      counts = (await readProblems(sql, prefix)).problems.map(({ count }) => count.count);
    });
    expect(Math.max(...counts)).toBe(most);
    const read = Object.values({ ...seen.index, ...seen.scanned }).reduce((sum, each) => sum + each, 0);
    expect(read).toBeLessThan(3 * lookedMax + 12 * waitingMax);
  });
});
