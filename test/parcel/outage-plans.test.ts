import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { jobId } from "../../lib/job/job-id.ts";
import { readJob } from "../../lib/job/read-job.ts";
import { readOutages } from "../../lib/parcel/outages.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { type Touched, touched } from "../support/touched.ts";

const rows = 100_000;
const today = new Date("2026-03-02T00:00:00Z");
const plus = (ms: number) => new Date(today.getTime() + ms);

/** A hundred thousand outages of each kind, times of parcels, and parcels that are not due yet. */
async function fill(sql: Sql): Promise<void> {
  await sql`
    insert into carillon.outages (what, from_at, to_at, noted_at)
    select w, ${today}::timestamptz - n * interval '1 min', ${today}::timestamptz - n * interval '1 min' + interval '30 s', ${today}
    from generate_series(1, ${rows}) n, unnest(array['tick', 'database', 'fast-workers', 'slow-workers']) w`;
  await sql`
    insert into carillon.parcel_times (occurrence, parcel_id, claimed_at, made_at, settled_at, queue)
    select ${today}, n, ${today}::timestamptz + n * interval '100 ms', ${today}, ${today}::timestamptz + n * interval '100 ms' + interval '1 s', 'slow'
    from generate_series(1, ${rows}) n`;
  await sql`
    insert into carillon.schedules (key, shard, queue, target_kind, created_at, created_by, updated_at, updated_by)
    values ('one', 0, 'slow', 'handler', ${today}, 'test', ${today}, 'test')`;
  await sql`
    insert into carillon.jobs (occurrence, schedule_id, due_at, parcel_id, started_at, finished_at, version, state, attempt)
    select ${today}, s.id, ${today}, 5000, ${plus(500_000)}, ${plus(501_000)}, 1, 'succeeded', 1 from carillon.schedules s`;
  await sql`
    insert into carillon.parcels (ready_at, offer_at, shard, offers, queue, occurrences, schedule_ids)
    select carillon.clock() + interval '1 h', carillon.clock() + interval '1 h' + n * interval '1 ms', 0, 1, 'slow', array[${today}::timestamptz], array[1]
    from generate_series(1, ${rows}) n`;
}

describe.each([
  ["without statistics", false],
  ["with statistics", true],
])("a ledger of outages and times of parcels %s", (_, isAnalyzed) => {
  let database: TestDatabase;
  let sql: Sql;

  beforeAll(async () => {
    database = await testDatabase();
    sql = connect({ DATABASE_URL: database.url }, { max: 1 });
    await sql`select carillon.attach_missing_days(array[${today}::timestamptz])`;
    await fill(sql);
    await sql`set jit = off`;
    if (isAnalyzed) await sql`vacuum analyze carillon.outages, carillon.parcel_times`;
  });

  afterAll(async () => {
    await sql.end();
    await database.drop();
  });

  const readOf = ({ index }: Touched) => Object.values(index).reduce((sum, each) => sum + each, 0);

  test.each([
    ["the newest", {}],
    ["those of an hour long ago", { from: plus(-400_000_000), to: plus(-396_400_000) }],
    ["those since an hour long ago", { from: plus(-400_000_000) }],
  ])("a page of outages (%s) reads a page of each kind at most", async (_, range) => {
    const seen = await touched(sql, () => readOutages(sql, { ...range, limit: 50 }));
    expect(seen.scanned).toEqual({});
    expect(readOf(seen)).toBeLessThan(300);
  });

  test("the times of an attempt are found by index, in the day of its job", async () => {
    const [row] = await sql<{ id: string }[]>`select id from carillon.schedules`;
    const id = jobId({ scheduleId: row?.id ?? "", occurrence: today, kind: "cadence", n: 0 });
    let settledAt: Date | null | undefined;
    const seen = await touched(sql, async () => {
      settledAt = (await readJob(sql, id))?.attempts?.[0]?.settledAt;
    });
    expect(settledAt).toEqual(plus(501_000));
    expect(seen.scanned["parcel_times"]).toBeUndefined();
    expect(readOf(seen)).toBeLessThan(50);
  });

  test("the mark of a tick reads no more than a thousand parcels of each queue", async () => {
    await sql`update carillon.heartbeat set ticked_at = carillon.clock(), server_started_at = pg_postmaster_start_time()`;
    const seen = await touched(
      sql,
      () => sql`select * from carillon.note_tick(false, interval '1000 years', null)`,
    );
    // The one row of the heartbeat is read as a table.
    expect(Object.keys(seen.scanned)).toEqual(["heartbeat"]);
    expect(seen.index["parcels_offer"]).toBeLessThanOrEqual(2_010);
    expect(await sql`select from carillon.outages where to_at is null`).toEqual([]);
  });
});
