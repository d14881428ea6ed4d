import { afterEach, beforeEach, expect, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { fireShardBatch } from "../../lib/tick/fire/shard-batch.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute } from "../support/instants.ts";
import { touched } from "../support/touched.ts";

let world: Carillon;
let sql: Sql;

beforeEach(async () => {
  world = await carillon();
  // A plan is kept by its connection.
  sql = connect({ DATABASE_URL: world.databaseUrl }, { max: 1 });
});

afterEach(async () => {
  await sql.end();
  await world.stop();
});

/** Makes schedules of one shard that are due ten minutes after those of the previous `turn`. */
async function dueAt(turn: number, count: number): Promise<void> {
  await world.sql`
    with made as (
      insert into carillon.schedules (shard, queue, key, target_kind, created_at, created_by, updated_at, updated_by)
      select 1, 'fast', ${`turn-${turn}-`} || n, 'queue', carillon.clock(), 't', carillon.clock(), 't' from generate_series(1, ${count}) n
      returning id
    ), versions as (
      insert into carillon.schedule_versions (schedule_id, version, change, changed_at, changed_by, spec_version, held, once_at, body, target, payload)
      select id, 1, 'created', carillon.clock(), 't', 1, false, ${at(turn * 10 * minute)}, '{}', '{"queue": "demo"}', '{}' from made
    )
    insert into carillon.plan (due_at, occurrence, schedule_id, version, shard)
    select ${at(turn * 10 * minute)}, ${at(turn * 10 * minute)}, id, 1, 1 from made`;
}

test("A tick whose plan was made on small tables uses indexes once they are large", async () => {
  await world.sql`alter table carillon.schedules set (autovacuum_enabled = off)`;
  for (let turn = 1; turn <= 12; turn++) {
    await dueAt(turn, 20);
    await world.sql`analyze carillon.schedules`;
    await world.clock.setNow(at(turn * 10 * minute));
    expect((await fireShardBatch(sql, 1, 5_000, world.queue.timing)).jobs).toBe(20);
  }
  await dueAt(13, 5_000);
  await world.clock.setNow(at(130 * minute));
  const { scanned } = await touched(sql, async () => {
    expect((await fireShardBatch(sql, 1, 5_000, world.queue.timing)).jobs).toBe(5_000);
  });
  expect(scanned["schedules"] ?? 0).toBeLessThan(500);
});

test("A tick looks schedules up by id even if the planner takes their table for empty", async () => {
  await dueAt(1, 5_000);
  // As after a vacuum of the empty table.
  await world.sql`
    update pg_class set reltuples = 0, relpages = 1, relallvisible = 0
    where oid in (select 'carillon.schedules'::regclass union all select indexrelid from pg_index where indrelid = 'carillon.schedules'::regclass)`;
  await world.clock.setNow(at(10 * minute));
  const { scanned, index } = await touched(sql, async () => {
    expect((await fireShardBatch(sql, 1, 5_000, world.queue.timing)).jobs).toBe(5_000);
  });
  expect(scanned["schedules"] ?? 0).toBeLessThan(500);
  expect(index["schedules_live_key"] ?? 0).toBeLessThan(500);
  expect(index["schedules_pkey"] ?? 0).toBe(5_000);
});
