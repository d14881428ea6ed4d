import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { setLimits } from "../../lib/limit/limits.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";
import { due, dueOnce, ids, swept, workerOf } from "./limit-world.ts";
import { allWait, inOneShard, teamOf } from "./team-world.ts";

let world: Carillon;
let own: Sql;

beforeEach(async () => {
  world = await carillon();
  own = connect({ DATABASE_URL: world.databaseUrl }, { max: 12 });
});

afterEach(async () => {
  await own.end();
  await world.stop();
});

/** A ready parcel of the team at each of twelve hosts. */
async function twelveHosts(): Promise<string[]> {
  for (let host = 0; host < 12; host += 1)
    await dueOnce(world, `large-${host}`, 1, { target: { handler: `host-${host}` } });
  await teamOf(world, "large");
  await world.tick();
  await world.clock.setNow(due);
  return ids(world);
}

const places = async () =>
  (
    await world.sql<
      { target: number }[]
    >`select target_id as target from carillon.parcels where slots is not null`
  ).length;

describe("the workers that a team may have", () => {
  test.each([
    { share: 1, most: 1, known: false },
    { share: 2, most: 3, known: true },
    { share: 5, most: 7, known: false },
    { share: 5, most: 7, known: true },
  ])(
    "with a share of $share (known before: $known), $most of twelve claims at once for as many hosts of a team get a place",
    async (row) => {
      const parcels = await twelveHosts();
      // Known to the target already, or reported by these claims.
      if (row.known) await world.sql`update carillon.targets set share = ${row.share}`;
      const worker = workerOf({ sql: own }, row.share);
      await Promise.all(parcels.map((id) => worker.claim(id)));
      expect(await places()).toBe(row.most);
      await swept(world);
      expect(await places()).toBe(row.most);
    },
  );

  test("each place that the team gives up is taken at another host, and each host has its turn", async () => {
    const parcels = await twelveHosts();
    await world.sql`update carillon.targets set share = 2`;
    const worker = workerOf({ sql: own }, 2);
    const claims = [];
    for (const id of parcels) claims.push(await worker.claim(id));
    const running = claims.flatMap((claim) => (claim.outcome === "claimed" ? [claim] : []));
    expect(running).toHaveLength(3);
    let settled = 0;
    for (let parcel = running.shift(); parcel !== undefined; parcel = running.shift()) {
      const freed = await worker.settle(parcel);
      settled += 1;
      expect(freed.length).toBeLessThanOrEqual(1);
      for (const id of freed) running.push(await worker.claimed(id));
    }
    expect(settled).toBe(12);
  });

  test("other teams' places leave a team three quarters of the rest, and at least one", async () => {
    const parcels = await twelveHosts();
    await dueOnce(world, "few", 4, { target: { handler: "busy" } });
    await world.sql`update carillon.targets set share = 4`;
    const room = async () =>
      (
        await world.sql<
          { room: number }[]
        >`select room from carillon.team_rooms(array[1], 4, carillon.clock())`
      )[0]?.room;
    expect(await room()).toBe(6);
    await world.sql`
      update carillon.parcels set team_id = null, slots = 1, lease_until = carillon.clock() + interval '1 h', claimed_at = carillon.clock()
      where id = any(${parcels.slice(0, 4)}::bigint[])`;
    expect(await room()).toBe(3);
    await world.sql`
      update carillon.parcels set team_id = null, slots = 1, lease_until = carillon.clock() + interval '1 h', claimed_at = carillon.clock()
      where id = any(${parcels}::bigint[])`;
    expect(await room()).toBe(1);
  });
});

test.each([
  { of: "a team", aheadMs: 5 * second },
  { of: "no team", aheadMs: 2 * minute },
])("at a rate, waiting parcels of $of get their starts $aheadMs ms ahead", async (row) => {
  await setLimits(world, {
    target: "handler/shared",
    limits: { concurrency: null, rate: { count: 1, perMs: second } },
    caller: { name: "ann" },
  });
  await dueOnce(world, "large", 200, { target: { handler: "shared" } });
  if (row.of === "a team") await teamOf(world, "large");
  await inOneShard(world);
  await world.tick();
  await allWait(world);
  await world.clock.setNow(due);
  await swept(world);
  const [last] = await world.sql<{ at: Date }[]>`
    select max(ready_at) as at from carillon.parcels where turn = 'granted'`;
  expect(last?.at).toEqual(at(minute + row.aheadMs));
});
