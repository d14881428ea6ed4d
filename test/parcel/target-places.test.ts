import { afterEach, beforeEach, expect, test } from "vitest";
import { lockTarget } from "../../lib/db/locks.ts";
import { type LimitsRead, setLimits } from "../../lib/limit/limits.ts";
import { type Claimed, claimParcel } from "../../lib/parcel/claim.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { second } from "../support/instants.ts";
import { until } from "../support/until.ts";
import { waitingLocks } from "../support/waiting-locks.ts";
import { due, dueOnce, ids, lease } from "./limit-world.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const name = "handler/a";
const limit = (concurrency: number, ifMatch?: number[]) =>
  setLimits(world, { target: name, limits: { concurrency, rate: null }, caller: { name: "ann" }, ifMatch });

/** Two ready parcels of one target, of which no message was sent. */
async function twoParcels(): Promise<string[]> {
  await dueOnce(world, "a", 20);
  await world.sql`update carillon.schedules set shard = 0`;
  await world.sql`update carillon.plan set shard = 0`;
  await world.tick();
  await world.clock.setNow(due);
  await world.sql`update carillon.parcels set turn = null, turn_at = null, ready_at = ${due}, offer_at = ${due} where turn = 'waits'`;
  return ids(world, name);
}

/** Begins these while another transaction has the target, which commits a second later. */
async function whileDecided<Result>(
  ...acts: (() => Promise<Result>)[]
): Promise<PromiseSettledResult<Result>[]> {
  const begun: Promise<Result>[] = [];
  await world.sql.begin(async (tx) => {
    const [target] = await tx<{ id: number }[]>`select id from carillon.targets where name = ${name}`;
    await lockTarget(tx, target?.id ?? 0);
    begun.push(...acts.map((act) => act()));
    await until("all wait for the target", async () => (await waitingLocks(world.sql, 6)) === acts.length);
    await world.clock.advance(second);
  });
  return Promise.allSettled(begun);
}

test("a lease counts from when the parcel has its place, not from when it began to wait for its target", async () => {
  const [first = ""] = await twoParcels();
  await limit(10);
  const [claimed] = await whileDecided<Claimed>(() => claimParcel(world.sql, first, lease, null));
  expect(claimed).toMatchObject({ status: "fulfilled", value: { outcome: "claimed" } });
  // If the lease were shorter by the wait, it would end while its worker still works: another
  // worker would run the jobs again.
  expect(await world.sql`select lease_until from carillon.parcels where id = ${first}`).toEqual([
    { lease_until: new Date(due.getTime() + second + lease) },
  ]);
});

test("if two edits of a target's limits both name the same version, one is refused", async () => {
  const { revision } = await limit(5);
  const ends = await whileDecided<LimitsRead>(
    () => limit(6, [revision]),
    () => limit(7, [revision]),
  );
  // Otherwise the later edit would undo the earlier one, which its caller has not seen.
  expect(ends.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  expect(ends).toContainEqual({
    status: "rejected",
    reason: expect.objectContaining({ kind: "precondition" }),
  });
});
