import { afterEach, beforeEach, expect, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { lockLane, lockTarget } from "../../lib/db/locks.ts";
import { setLimits } from "../../lib/limit/limits.ts";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { endLease } from "../../lib/parcel/end-lease.ts";
import { type Settlement, settleParcel } from "../../lib/parcel/settle.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";
import { until } from "../support/until.ts";
import { waitingLocks } from "../support/waiting-locks.ts";
import { dueOnce, lease, swept } from "./limit-world.ts";

let world: Carillon;
let own: Sql;

beforeEach(async () => {
  world = await carillon();
  own = connect({ DATABASE_URL: world.databaseUrl }, { max: 10 });
});

afterEach(async () => {
  await own.end();
  await world.stop();
});

/**
 * Numbers from a seed. The same seed gives the same run, as far as the database's own timing
 * allows.
 */
function dice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

const concurrency = 25;
const perTeam = 3;
const window = 3;

test("with many workers at once no limit is exceeded, also not by one team, every parcel gets its turn, and there is no deadlock", async () => {
  await dueOnce(world, "a", 150, { target: { handler: "a" } });
  for (let n = 0; n < 5; n++)
    await world.put(`lane-${n}`, {
      when: "every 10s",
      endsAt: at(minute).toISOString(),
      target: { handler: "a" },
      overlap: "queue",
    });
  await world.put("group", { when: `at ${at(minute).toISOString()}`, target: { handler: "b" } });
  await setLimits(world, {
    target: "handler/a",
    limits: { concurrency, perTeam, rate: null },
    caller: { name: "ann" },
  });
  await world.tick();
  // Later than the parcels, so that most of them have jobs of both teams and of none.
  await world.sql`select carillon.keep_team('odd-'), carillon.keep_team('even-')`;
  await world.sql`
    update carillon.schedules s set team_id = t.id from carillon.teams t
    where starts_with(s.key, 'a-') and t.prefix = case s.id % 3 when 0 then 'even-' when 1 then 'odd-' end`;
  await world.clock.setNow(at(minute));
  const roll = dice(7);
  const seen: { slots: number; parcels: number; ofTeam: number }[] = [];

  const actor = async () => {
    for (let turn = 0; turn < 120; turn++) {
      const all = await own<
        { id: string }[]
      >`select id from carillon.parcels where ready_at <= carillon.clock() order by id`;
      const id = all[Math.floor(roll() * all.length)]?.id;
      if (id === undefined) return;
      const claim = await claimParcel(own, id, lease, window);
      if (claim.outcome === "ended") await endLease({ sql: own, log: world.log }, id, []);
      if (claim.outcome !== "claimed") continue;
      const [room] = await own<{ slots: number; parcels: number; ofTeam: number }[]>`
        select coalesce(sum(k.slots), 0)::int as slots, coalesce(sum(k.parcels), 0)::int as parcels, coalesce(max(k.slots), 0)::int as "ofTeam"
        from (select p.team_id, sum(p.slots) as slots, count(*) as parcels
          from carillon.parcels p join carillon.targets t on t.id = p.target_id where t.name = 'handler/a' and p.slots is not null group by 1) k`;
      if (room !== undefined) seen.push(room);
      if (roll() < 0.1) continue;
      const settlements = claim.jobs.map((): Settlement => {
        const fell = roll();
        if (fell < 0.1) return { kind: "back" };
        return fell < 0.2 ? { kind: "retry", afterMs: 0, error: "again" } : { kind: "succeeded" };
      });
      await settleParcel(own, claim, settlements);
    }
  };
  const meddler = async () => {
    for (let turn = 0; turn < 12; turn++) {
      await setLimits(world, {
        target: "handler/a",
        limits:
          turn % 2 === 0 ? { concurrency: 5, perTeam: 2, rate: null } : { concurrency, perTeam, rate: null },
        caller: { name: "ann" },
      });
      await swept(world);
      await world.clock.advance(3 * second);
    }
  };
  await Promise.all([...Array.from({ length: 7 }, actor), meddler()]);
  expect(Math.max(...seen.map(({ slots }) => slots))).toBeLessThanOrEqual(concurrency);
  expect(Math.max(...seen.map(({ parcels }) => parcels))).toBeLessThanOrEqual(window);
  expect(Math.max(...seen.map(({ ofTeam }) => ofTeam))).toBeLessThanOrEqual(perTeam);

  for (let rounds = 0; (await waiting()) > 0; rounds++) {
    expect(rounds).toBeLessThan(200);
    await world.clock.advance(minute);
    await swept(world);
    await world.work();
  }
  expect(await world.sql`select distinct state from carillon.jobs`).toEqual([{ state: "succeeded" }]);
  expect(await world.sql`select from carillon.parcels`).toEqual([]);
}, 60_000);

test("a settle waits for its target before it takes its lane, since another transaction with the target may want the lane", async () => {
  await world.put("s", { when: "every 10s", target: { handler: "a" }, overlap: "queue" });
  await world.tick();
  await world.clock.setNow(at(10 * second));
  const [parcel] = await own<{ id: string; schedule: string; target: number }[]>`
    select id, schedule_ids[1] as schedule, target_id as target from carillon.parcels order by ready_at limit 1`;
  if (parcel === undefined) throw new Error("There is no parcel.");
  const claim = await claimParcel(own, parcel.id, lease, window);
  if (claim.outcome !== "claimed") throw new Error(`The parcel is ${claim.outcome}.`);
  const settling: Promise<unknown>[] = [];
  await own.begin(async (tx) => {
    await lockTarget(tx, parcel.target);
    settling.push(settleParcel(own, claim, [{ kind: "succeeded" }]));
    await until("the settle waits for its target", async () => (await waitingLocks(own, 6)) === 1);
    await tx`set local lock_timeout = '100ms'`;
    await lockLane(tx, parcel.schedule);
  });
  await Promise.all(settling);
  expect(await own`select state from carillon.jobs order by occurrence limit 1`).toEqual([
    { state: "succeeded" },
  ]);
});

async function waiting(): Promise<number> {
  const [row] = await world.sql<
    { jobs: number }[]
  >`select count(*)::int as jobs from carillon.jobs where state = 'waiting'`;
  return row?.jobs ?? 0;
}

test("a cancel does not keep a parcel locked that begins to wait at its target at this moment", async () => {
  for (const [n, key] of ["runs", "early", "late"].entries())
    await world.put(key, { when: `at ${at(minute + n * second).toISOString()}`, target: { handler: "a" } });
  await world.tick();
  await world.clock.setNow(at(2 * minute));
  const [runs, early, late] = await Promise.all(
    ["runs", "early", "late"].map(async (key) => (await world.jobs(key))[0]?.parcelId ?? ""),
  );
  const parcel = await claimParcel(own, runs ?? "", lease, 1);
  if (parcel.outcome !== "claimed") throw new Error(parcel.outcome);
  expect(await claimParcel(own, late ?? "", lease, 1)).toMatchObject({ outcome: "held" });
  const waiting = (count: number) =>
    until(`${count} wait`, async () => {
      const [row] = await own<{ count: number }[]>`
        select count(*)::int from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      return row?.count === count;
    });
  const others = await own.begin(async (tx) => {
    await tx`select from carillon.claim_parcel(${early ?? ""}, ${lease}, 1)`;
    const settled = settleParcel(own, parcel, [{ kind: "succeeded" }]);
    await waiting(1);
    const cancelled = own`
      select distinct c.became
      from (select array_agg(occurrence) as occurrences, array_agg(schedule_id) as schedule_ids, array_agg(kind) as kinds, array_agg(n) as ns
        from carillon.jobs where occurrence > ${at(minute)}) j
      cross join lateral carillon.cancel_jobs(j.occurrences, j.schedule_ids, j.kinds, j.ns) c where c.became is not null`.execute();
    await waiting(2);
    return [settled, cancelled] as const;
  });
  // The two may end in either order: neither waits for the other.
  const [settled, cancelled] = await Promise.all(others);
  expect(settled).toMatchObject({ held: true });
  expect([[{ became: "moved" }], [{ became: "cancelled" }]]).toContainEqual([...cancelled]);
});
