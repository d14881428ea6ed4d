import { afterEach, beforeEach, expect, test } from "vitest";
import { connect, type Sql, type Tx } from "../../lib/db/connect.ts";
import { closeGate, lockTarget } from "../../lib/db/locks.ts";
import { type Claimed, claimParcel } from "../../lib/parcel/claim.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { until } from "../support/until.ts";
import { waitingLocks } from "../support/waiting-locks.ts";
import { due, lease, parcels, readyParcels, workerOf } from "./limit-world.ts";

/**
 * Claims at a target that only its share limits, while another transaction holds the lock that they
 * need.
 */

let world: Carillon;
let own: Sql;

beforeEach(async () => {
  world = await carillon();
  own = connect({ DATABASE_URL: world.databaseUrl }, { max: 4 });
});

afterEach(async () => {
  await own.end();
  await world.stop();
});

/** A claim that begins while another transaction has the target, and goes on after its commit. */
async function claimedAfter(id: string, share: number, decide: (tx: Tx) => PromiseLike<unknown>) {
  const [target] = await own<{ id: number }[]>`select id from carillon.targets`;
  const claims: Promise<Claimed>[] = [];
  await own.begin(async (tx) => {
    await lockTarget(tx, target?.id ?? 0);
    claims.push(claimParcel(own, id, lease, share));
    await until("the claim waits for the target", async () => (await waitingLocks(own, 6)) === 1);
    await decide(tx);
  });
  const [claim] = await Promise.all(claims);
  return claim;
}

test("a claim that finds room overtakes no parcel that has begun to wait at the target meanwhile", async () => {
  // Otherwise every new parcel overtakes those that wait, and they run late however long they have
  // waited.
  const [running = "", comes = "", waits = ""] = await readyParcels(world, 2, 3);
  await workerOf({ sql: own }, 2).claimed(running);
  const claim = await claimedAfter(
    comes,
    2,
    (tx) => tx`
      update carillon.parcels set turn = 'waits', turn_at = ${due}::timestamptz - interval '1 s', ready_at = 'infinity', offer_at = 'infinity'
      where id = ${waits}`,
  );
  expect(claim).toMatchObject({ outcome: "held", freed: [{ id: waits }] });
});

test("a claim takes no place that is being given to a parcel that waited for it", async () => {
  // Otherwise two parcels have the last place, and the target gets more at once than its share
  // allows.
  const [running = "", comes = "", waits = ""] = await readyParcels(world, 2, 3);
  await workerOf({ sql: own }, 2).claimed(running);
  const give = (tx: Tx) => tx`update carillon.parcels set turn = 'granted', slots = 10 where id = ${waits}`;
  expect(await claimedAfter(comes, 2, give)).toMatchObject({ outcome: "held" });
});

test("a claim by a duplicate message leaves the parcel to the worker that has claimed it meanwhile", async () => {
  // Otherwise a running parcel waits at its target at the same time: it gets a turn that others
  // lose, and is sent again.
  const [parcel = ""] = await readyParcels(world, 1, 1);
  const claims: Promise<Claimed>[] = [];
  await own.begin(async (tx) => {
    await closeGate(tx, 0);
    claims.push(claimParcel(own, parcel, lease, 1));
    await until("the second claim waits for the gate", async () => (await waitingLocks(own, 2)) === 1);
    expect(
      await tx`select outcome from carillon.claim_parcel(${parcel}, ${lease}, 1) where outcome <> 'job'`,
    ).toEqual([{ outcome: "claimed" }]);
  });
  expect(await Promise.all(claims)).toMatchObject([{ outcome: "leased" }]);
  expect(await parcels(world)).toMatchObject([{ id: parcel, turn: null, leased: true }]);
});

test("a claim that fills its parcel does not wait for a locked neighbour", async () => {
  // Otherwise two claims that fill from each other's parcels block each other, and a slow edit
  // delays a worker with work.
  const [head = "", neighbour = ""] = await readyParcels(world, 8, 2);
  for (const id of [head, neighbour])
    await world.sql`
      update carillon.parcels set occurrences = occurrences[1:2], schedule_ids = schedule_ids[1:2] where id = ${id}`;
  const impatient = connect({ DATABASE_URL: world.databaseUrl });
  await impatient`set lock_timeout = '200ms'`;
  await own.begin(async (tx) => {
    await tx`select from carillon.parcels where id = ${neighbour} for update`;
    const claim = await claimParcel(impatient, head, lease, 8);
    expect(claim.outcome === "claimed" ? claim.jobs.length : claim.outcome).toBe(2);
  });
  await impatient.end();
  expect(await claimParcel(own, neighbour, lease, 8)).toMatchObject({ outcome: "claimed" });
});
