import { afterAll, beforeAll, expect, test } from "vitest";
import { systemTiming } from "../../lib/clock.ts";
import { connect, type Sql, type Tx } from "../../lib/db/connect.ts";
import { closeGate, lockPlan, lockPlanShared } from "../../lib/db/locks.ts";
import { lockForEdit } from "../../lib/edit/apply-edit.ts";
import { readShard } from "../../lib/plan/shard.ts";
import { fireShardBatch } from "../../lib/tick/fire/shard-batch.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { until } from "../support/until.ts";
import { waitingLocks } from "../support/waiting-locks.ts";

let database: TestDatabase;
let sql: Sql;
const shard = 3;
const later = new Date("2100-01-01T00:00:00Z");

beforeAll(async () => {
  database = await testDatabase();
  sql = connect({ DATABASE_URL: database.url }, { max: 4 });
});

afterAll(async () => {
  await sql.end();
  await database.drop();
});

/**
 * Another transaction holds the plan lock and moves the watermark; `act` starts meanwhile and has
 * to wait.
 */
async function whileAnotherMovesTheWatermark<Result>(act: () => Promise<Result>): Promise<Result> {
  let acting: Promise<Result> | undefined;
  await sql.begin(async (tx) => {
    await lockPlan(tx, shard);
    acting = act();
    await until("`act` waits for the plan lock", async () => (await waitingLocks(sql)) > 0);
    await tx`update carillon.shards set watermark_at = ${later} where id = ${shard}`;
  });
  if (acting === undefined) throw new Error("`act` did not run.");
  return acting;
}

const reset = () => sql`update carillon.shards set watermark_at = carillon.clock() where id = ${shard}`;
const watermark = async () => (await readShard(sql, shard)).watermarkAt;

test("an edit reads the watermark of its shard after it has the plan lock, not before", async () => {
  await reset();
  const [schedule] = await sql<{ id: string }[]>`
    with made as (
      insert into carillon.schedules (shard, queue, key, target_kind, created_at, created_by, updated_at, updated_by)
      values (${shard}, 'fast', 'edited', 'queue', carillon.clock(), 't', carillon.clock(), 't') returning id)
    insert into carillon.schedule_versions (schedule_id, version, change, changed_at, changed_by, spec_version, held, once_at, body, target)
    select id, 1, 'created', carillon.clock(), 't', 1, false, ${later}, '{"when":"-"}', '{"queue":"q"}' from made returning schedule_id as id`;
  const locked = await whileAnotherMovesTheWatermark(() =>
    sql.begin((tx) => lockForEdit(tx, { id: schedule?.id ?? "", shard })),
  );
  expect(locked?.state.watermarkAt).toEqual(later);
});

test("a tick reads the watermark of its shard after it has the plan lock, not before", async () => {
  await reset();
  const batch = await whileAnotherMovesTheWatermark(() => fireShardBatch(sql, shard, 10, systemTiming));
  expect(batch).toMatchObject({ jobs: 0, done: true });
  expect(await watermark()).toEqual(later);
});

test("a lock is sent at once, also before it is awaited", async () => {
  const held = await sql.begin(async (tx: Tx) => {
    const locks = [lockPlanShared(tx, shard), closeGate(tx, shard)];
    const [row] = await tx<{ held: number }[]>`
      select count(*)::int as held from pg_locks where locktype = 'advisory' and granted and pid = pg_backend_pid()`;
    await Promise.all(locks);
    return row?.held;
  });
  expect(held).toBe(2);
});
