import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { settleParcel } from "../../lib/parcel/settle.ts";
import { sweep } from "../../lib/parcel/sweep.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute } from "../support/instants.ts";
import { statistics, tell } from "../support/statistics.ts";
import { type Touched, touched } from "../support/touched.ts";
import { dueOnce, workerOf } from "./limit-world.ts";

const waiters = 10_000;
const targets = 200;

describe.each(statistics)(
  "with ten thousand parcels that wait at one target and some at each of many, %s",
  (_, told) => {
    let world: Carillon;
    let sql: Sql;

    beforeAll(async () => {
      world = await carillon();
      await dueOnce(world, "a", 3);
      await world.sql`update carillon.schedules set shard = 0`;
      await world.sql`update carillon.plan set shard = 0`;
      await world.tick();
      await world.clock.setNow(at(2 * minute));
      sql = connect({ DATABASE_URL: world.databaseUrl }, { max: 1 });
      await sql`insert into carillon.targets (name, concurrency) select 'handler/other-' || i, 1 from generate_series(1, ${targets}) i`;
      await sql`
      insert into carillon.parcels (shard, queue, ready_at, offer_at, target_id, turn, turn_at, occurrences, schedule_ids)
      select 0, 'slow', 'infinity', 'infinity', t.id, 'waits', carillon.clock() + (n - 100) * interval '1 ms', array[carillon.clock()], '{1}'
      from carillon.targets t cross join lateral generate_series(1, case t.name when 'handler/a' then ${waiters}::int else 5 end) n`;
      await tell(sql, told);
      await sql`set jit = off`;
    });

    afterAll(async () => {
      await sql.end();
      await world.stop();
    });

    function expectProbesOnly({ scanned, index }: Touched, entriesMax: number): void {
      expect(Object.entries(scanned).filter(([table, read]) => table === "parcels" && read > 100)).toEqual(
        [],
      );
      expect(
        Object.entries(index).filter(([name, read]) => name.startsWith("parcels") && read > entriesMax),
      ).toEqual([]);
    }

    test("a claim, and a settle that gives the next turn, read a few rows", async () => {
      const [parcel] = await sql<
        { id: string }[]
      >`select id from carillon.parcels where turn is null limit 1`;
      const of = await touched(sql, async () => {
        const claim = await workerOf({ sql }, 2).claimed(parcel?.id ?? "0");
        const settled = await settleParcel(
          sql,
          claim,
          claim.jobs.map(() => ({ kind: "succeeded" })),
        );
        expect(settled.held).toBe(true);
      });
      // Parcels that are merged into the one that has its turn are found among the next 250.
      expectProbesOnly(of, 60 + 250);
    });

    test("a sweep reads each target, not each waiting parcel", async () => {
      const of = await touched(sql, () => sweep(sql, world.log));
      expectProbesOnly(of, targets * 15);
    });
  },
);
