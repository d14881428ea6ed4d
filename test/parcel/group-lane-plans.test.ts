import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { type ClaimedParcel, claimParcel } from "../../lib/parcel/claim.ts";
import { settleParcel } from "../../lib/parcel/settle.ts";
import { sweep } from "../../lib/parcel/sweep.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute } from "../support/instants.ts";
import { statistics, tell } from "../support/statistics.ts";
import { type Touched, touched } from "../support/touched.ts";

const many = 10_000;
const hot = 1;
const hotGrouped = many + 1;
const others = 2 * many;

describe.each(statistics)(
  "with ten thousand jobs in one group's lane, as many in a grouped handler's and other groups, %s",
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

    /**
     * Expects that no table and no index is read through. The rows that are read may grow with the
     * delivered jobs.
     */
    function expectProbesOnly({ scanned, index }: Touched, entriesMax: number): void {
      const large = Object.entries(scanned).filter(([table, read]) => table !== "test_clock" && read > 500);
      expect(large).toEqual([]);
      expect(Object.entries(index).filter(([, read]) => read > entriesMax)).toEqual([]);
    }

    async function travelling(schedule: number): Promise<string> {
      const [parcel] = await world.sql<{ id: string }[]>`
      select id from carillon.parcels where schedule_ids[1] = ${schedule} and lane is null`;
      if (parcel === undefined) throw new Error("No parcel is under way.");
      return parcel.id;
    }

    async function claimOf(schedule: number): Promise<{ parcel: ClaimedParcel; looked: Touched }> {
      const id = await travelling(schedule);
      let parcel: ClaimedParcel | undefined;
      const looked = await touched(sql, async () => {
        const claim = await claimParcel(sql, id, minute);
        if (claim.outcome === "claimed") parcel = claim;
      });
      if (parcel === undefined) throw new Error("Nothing was claimed.");
      return { parcel, looked };
    }

    const settle = (parcel: ClaimedParcel) =>
      settleParcel(
        sql,
        parcel,
        parcel.jobs.map(() => ({ kind: "succeeded" })),
      );

    test.each([
      ["first in the long lane", hot],
      ["alone in its group", others + 5],
    ])("a job %s starts at once, and its claim and settle read a few entries", async (_name, schedule) => {
      const { parcel, looked } = await claimOf(schedule);
      expectProbesOnly(looked, 100);
      const settling = await touched(sql, async () => {
        expect((await settle(parcel)).outgoing).toHaveLength(schedule === hot ? 1 : 0);
      });
      expectProbesOnly(settling, 100);
    });

    test("a claim for a grouped handler brings 250 of thousands of due jobs of a group, and reads few rows more", async () => {
      const { parcel, looked } = await claimOf(hotGrouped);
      expect(parcel.jobs).toHaveLength(250);
      expectProbesOnly(looked, 3_000);
      const settling = await touched(sql, async () => {
        expect((await settle(parcel)).outgoing).toHaveLength(1);
      });
      expectProbesOnly(settling, 3_000);
    });

    test("a sweep reads each lane with a waiting job once", async () => {
      await world.clock.advance(30 * minute);
      expectProbesOnly(await touched(sql, () => sweep(sql, world.log)), 3_500);
    });
  },
);

/**
 * Stores `many` schedules of one serial group and `many` of one group of a grouped handler, each
 * with a job; all but the first job of each group wait in its lane. Stores `many` other groups too,
 * each of one schedule with an unclaimed job.
 */
async function fill(sql: Sql): Promise<void> {
  const start = at(0);
  await sql`select carillon.note_grouped(array['handler/digest'], array[true])`;
  await sql`
    insert into carillon.schedules (id, shard, queue, group_key, lane, key, target_kind, target_id, created_at, created_by, updated_at, updated_by)
    select n, n % 16, case when l.grouped then 'slow' else 'fast' end::carillon.queue_class, l.name, case when l.grouped then 'grouped/digest/' else 'group/' end || l.name,
      'k' || n, case when l.grouped then 'handler' else 'queue' end, case when l.grouped then t.id end, ${start}, 't', ${start}, 't'
    from generate_series(1, ${3 * many}::int) n cross join carillon.targets t cross join lateral (
      select n > ${many}::int and n <= ${2 * many}::int as grouped, case when n <= ${2 * many}::int then 'hot' else 'cold' || n end as name) l`;
  await sql`
    insert into carillon.schedule_versions (schedule_id, version, change, changed_at, changed_by, spec_version, held, once_at, body, target, payload)
    select id, 1, 'created', ${start}, 't', 1, false, ${start}, '{"when": "-"}',
      case when target_kind = 'handler' then '{"handler": "digest"}' else '{"queue": "demo"}' end::jsonb, '1' from carillon.schedules`;
  await sql`
    with places as (
      select nextval('carillon.parcels_id_seq') as id, s.id as schedule_id, s.shard, s.queue, s.lane, s.target_id,
        s.group_key = 'hot' and s.id not in (${hot}, ${hotGrouped}) as waits, ${start}::timestamptz + s.id * interval '1 ms' as at
      from carillon.schedules s
    ), parcels as (
      insert into carillon.parcels (id, shard, queue, ready_at, offer_at, lane, target_id, occurrences, schedule_ids, kinds, ns)
      select id, shard, queue, case when waits then 'infinity' else at end,
        ${start}::timestamptz + case when waits then interval '20 minutes' else interval '1 day' end,
        case when waits then lane end, target_id, array[at], array[schedule_id], array['cadence'::carillon.job_kind], array[0] from places
    ), entries as (
      insert into carillon.lane_entries (lane, due_at, occurrence, schedule_id, kind, n)
      select lane, at, at, schedule_id, 'cadence', 0 from places
    )
    insert into carillon.jobs (occurrence, schedule_id, due_at, parcel_id, version)
    select at, schedule_id, at, id, 1 from places`;
}
