import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { claimCompany } from "../../lib/parcel/claim-together.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { touched } from "../support/touched.ts";
import { claimedBeforeOthers, lease } from "./limit-world.ts";

/**
 * Query plans that were made while the tables had other contents: a long-lived connection keeps its
 * plans.
 */

let world: Carillon;
let own: Sql;

beforeEach(async () => {
  world = await carillon();
  own = connect({ DATABASE_URL: world.databaseUrl }, { max: 1 });
  await own`set jit = off`;
});

afterEach(async () => {
  await own.end();
  await world.stop();
});

/** Makes the statement's query plan, without effects. */
async function planned(statement: () => PromiseLike<unknown>): Promise<void> {
  await own`begin`;
  await statement();
  await own`rollback`;
}

async function parcelsThatWaitElsewhere(count: number): Promise<void> {
  await world.sql`insert into carillon.targets (name) values ('handler/elsewhere')`;
  await world.sql`
    insert into carillon.parcels (shard, queue, ready_at, offer_at, target_id, turn, turn_at, occurrences, schedule_ids)
    select 0, 'slow', 'infinity', 'infinity', t.id, 'waits', carillon.clock() + (n - 100) * interval '1 ms', array[carillon.clock()], '{1}'
    from carillon.targets t cross join lateral generate_series(1, ${count}::int) n where t.name = 'handler/elsewhere'`;
}

describe("a cached plan", () => {
  test.each(["claim_company", "claim_parcel"])(
    "%s with a query plan from before an import of schedules still reads only the schedules of its jobs",
    async (which) => {
      const head = await claimedBeforeOthers(world, 12);
      // Also removes the index entries of the rows as they were before the test gave them a shard.
      await world.sql`vacuum analyze`;
      if (which === "claim_parcel")
        await world.sql`update carillon.parcels set turn = null, ready_at = '2000-01-01' where turn = 'waits'`;
      const [last] = await world.sql<
        { id: string }[]
      >`select max(id) as id from carillon.parcels where id <> ${head.id}`;
      const claim = () =>
        which === "claim_company"
          ? own`select from carillon.claim_company(${head.id}, ${head.fence}, 9, ${lease})`
          : own`select from carillon.claim_parcel(${last?.id ?? "0"}, ${lease}, null)`;
      await planned(claim);
      await world.sql`
      insert into carillon.schedules (key, shard, queue, target_kind, target_id, created_at, created_by, updated_at, updated_by)
      select 'more-' || i, f.shard, f.queue, f.target_kind, f.target_id, f.created_at, f.created_by, f.updated_at, f.updated_by
      from (select * from carillon.schedules order by id limit 1) f, generate_series(1, 10000) i`;
      const { index } = await touched(own, claim);
      expect(index["schedules_pkey"]).toBeLessThanOrEqual(90);
      expect(index["schedules_pkey"]).toBeGreaterThan(0);
    },
  );

  test.each(["claim_company", "claim_parcel", "claim_parcels"])(
    "%s reads one version of each schedule, however often the schedules were edited since it was planned",
    async (which) => {
      const head = await claimedBeforeOthers(world, 12);
      await world.sql`analyze`;
      const queue = which === "claim_parcels" ? "fast" : "slow";
      await world.sql`
        update carillon.parcels set turn = null, queue = ${queue}, target_id = null, ready_at = '2000-01-01'
        where turn = 'waits' and ${which} <> 'claim_company'`;
      await world.sql`update carillon.schedules set queue = ${queue}`;
      const others = await world.sql<
        { id: string }[]
      >`select id from carillon.parcels where id <> ${head.id} order by id`;
      const ids = others.map(({ id }) => id);
      const claims = {
        claim_company: () =>
          own`select from carillon.claim_company(${head.id}, ${head.fence}, 9, ${lease}) where occurrence is not null`,
        claim_parcel: () =>
          own`select from carillon.claim_parcel(${ids[0] ?? "0"}, ${lease}, null) where outcome = 'job'`,
        claim_parcels: () =>
          own`select from carillon.claim_parcels(${ids}::bigint[], ${lease}) where occurrence is not null`,
      };
      const claim = claims[which as keyof typeof claims];
      await planned(claim);
      await world.sql`
        insert into carillon.schedule_versions (schedule_id, version, change, changed_at, changed_by, spec_version, held, once_at, body, target)
        select s.id, n, 'replaced', now(), 'ann', n, false, v.once_at, v.body, v.target
        from carillon.schedules s join carillon.schedule_versions v on v.schedule_id = s.id cross join generate_series(2, 500) n`;
      // Every third schedule is at another version than the others: the statement must not read it
      // for each.
      await world.sql`update carillon.schedules set version = 500, spec_version = 2 + id where id % 3 = 0`;
      let jobs = 0;
      const { index } = await touched(own, async () => {
        jobs = (await claim()).length;
      });
      expect(jobs).toBeGreaterThan(0);
      expect(index["schedule_versions_pkey"]).toBeGreaterThanOrEqual(jobs);
      // Two reads for every third schedule, and one for each of the others.
      expect(index["schedule_versions_pkey"]).toBeLessThanOrEqual(1.5 * jobs);
    },
  );

  test("claim_company with a query plan from when there were few parcels still reads only parcels that wait at its target", async () => {
    const head = await claimedBeforeOthers(world, 12);
    const claim = () => own`select from carillon.claim_company(${head.id}, ${head.fence}, 9, ${lease})`;
    await planned(claim);
    await world.sql`
      insert into carillon.parcels (shard, queue, ready_at, offer_at, occurrences, schedule_ids)
      select 0, 'fast', carillon.clock() + interval '1 hour', carillon.clock() + interval '1 hour', array[carillon.clock()], '{1}'
      from generate_series(1, 10000) n`;
    const { index, scanned } = await touched(own, claim);
    expect(index["parcels_offer"] ?? 0).toBe(0);
    expect(scanned["parcels"] ?? 0).toBe(0);
  });
});

test.each(["never", "before", "after"])(
  "a settle reads only parcels of its own target, though many parcels wait elsewhere (tables analyzed: %s)",
  async (analyzed) => {
    const head = await claimedBeforeOthers(world, 5);
    const all = [head, ...(await claimCompany(world.sql, { ...head, company: 3 }, lease))];
    if (analyzed === "before") await own`vacuum analyze`;
    await parcelsThatWaitElsewhere(10_000);
    if (analyzed === "after") await own`analyze`;
    const { index, scanned } = await touched(
      own,
      () =>
        own`select from carillon.settle_parcels(${all.map(({ id }) => id)}::bigint[], ${all.map(({ fence }) => fence)}::int[], '{}')`,
    );
    expect(index["parcels_turns"] ?? 0).toBeLessThanOrEqual(5);
    expect(scanned["parcels"] ?? 0).toBe(0);
  },
);
