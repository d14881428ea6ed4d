import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { type Claimed, claimParcel } from "../../lib/parcel/claim.ts";
import { settleParcel } from "../../lib/parcel/settle.ts";
import { sweep } from "../../lib/parcel/sweep.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute } from "../support/instants.ts";
import { statistics, tell } from "../support/statistics.ts";
import { type Touched, touched } from "../support/touched.ts";

const queued = 10_000;

describe.each(statistics)(
  "with ten thousand jobs in one lane and ten thousand other lanes, %s",
  (_, told) => {
    let world: Carillon;
    let sql: Sql;

    beforeAll(async () => {
      world = await carillon();
      sql = connect({ DATABASE_URL: world.databaseUrl }, { max: 1 });
      await fill(sql);
      await tell(sql, told);
      await world.clock.setNow(at(minute));
    });

    afterAll(async () => {
      await sql.end();
      await world.stop();
    });

    function expectProbesOnly({ scanned, index }: Touched, entriesMax: number): void {
      const large = Object.entries(scanned).filter(([table, read]) => table !== "test_clock" && read > 500);
      expect(large).toEqual([]);
      expect(Object.entries(index).filter(([, read]) => read > entriesMax)).toEqual([]);
    }

    async function parcelOf(schedule: number): Promise<string> {
      const [parcel] = await world.sql<{ id: string }[]>`
      select id from carillon.parcels where schedule_ids[1] = ${schedule} and lane is null`;
      if (parcel === undefined) throw new Error("No parcel is under way.");
      return parcel.id;
    }

    test.each([
      ["in the long lane", 1],
      ["alone in its lane", 5_000],
    ])("a claim and a settle of a job %s read a few entries", async (_name, schedule) => {
      const id = await parcelOf(schedule);
      let claim: Claimed | undefined;
      const claiming = await touched(sql, async () => {
        claim = await claimParcel(sql, id, minute);
      });
      expectProbesOnly(claiming, 100);
      const own = claim;
      if (own?.outcome !== "claimed") throw new Error(`The parcel is ${own?.outcome}.`);
      const settling = await touched(sql, () => settleParcel(sql, own, [{ kind: "succeeded" }]));
      expectProbesOnly(settling, 100);
    });

    test("a sweep reads each lane with a waiting job once", async () => {
      await world.clock.advance(30 * minute);
      expectProbesOnly(await touched(sql, () => sweep(sql, world.log)), 1_500);
    });
  },
);

/** Schedule 1 has a lane full of waiting jobs; each of the others has one unclaimed job. */
async function fill(sql: Sql): Promise<void> {
  const start = at(0);
  await sql`
    insert into carillon.schedules (id, shard, queue, overlap, key, target_kind, created_at, created_by, updated_at, updated_by)
    select n, n % 16, 'fast', 'queue', 'k' || n, 'queue', ${start}, 't', ${start}, 't' from generate_series(1, ${queued}) n`;
  await sql`
    insert into carillon.schedule_versions (schedule_id, version, change, changed_at, changed_by, spec_version, held, first_at, every_ms, body, target, payload)
    select n, 1, 'created', ${start}, 't', 1, false, ${start}, 1000, '{"when": "every 1s"}', '{"queue": "demo"}', '1' from generate_series(1, ${queued}) n`;
  await sql`
    with places as (
      select nextval('carillon.parcels_id_seq') as id, 1 as schedule_id, ${start}::timestamptz + n * interval '1 ms' as at, n > 1 as waits
      from generate_series(1, ${queued}) n
      union all
      select nextval('carillon.parcels_id_seq'), n, ${start}::timestamptz, false from generate_series(2, ${queued}) n
    ), parcels as (
      insert into carillon.parcels (id, shard, queue, ready_at, offer_at, lane, occurrences, schedule_ids)
      select id, schedule_id % 16, 'fast', case when waits then 'infinity' else at end,
      ${start}::timestamptz + case when waits then interval '20 minutes' else interval '1 day' end,
        case when waits then carillon.lane_of(schedule_id) end, array[at], array[schedule_id]
      from places
    ), entries as (
      insert into carillon.lane_entries (lane, due_at, occurrence, schedule_id, kind, n)
      select carillon.lane_of(schedule_id), at, at, schedule_id, 'cadence', 0 from places
    )
    insert into carillon.jobs (occurrence, schedule_id, due_at, parcel_id, version)
    select at, schedule_id, at, id, 1 from places`;
}
