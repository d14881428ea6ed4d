import { afterEach, beforeEach, expect, test } from "vitest";
import { gate, planLock } from "../../lib/db/locks.ts";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { fireShardBatch } from "../../lib/tick/fire/shard-batch.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";
import { until } from "../support/until.ts";
import { waitingLocks } from "../support/waiting-locks.ts";

/**
 * An edit, a tick and a claim of one shard run one after the other, and the later one sees the
 * result of the earlier one.
 */

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

async function shardOf(key: string): Promise<number> {
  const [row] = await world.sql<{ shard: number }[]>`select shard from carillon.schedules where key = ${key}`;
  if (row === undefined) throw new Error(`There is no schedule ${key}.`);
  return row.shard;
}

const planned = async () =>
  (await world.jobs("often")).map(({ occurrence, version }) => [occurrence, version]);

test("an edit waits for the tick of its shard, so that the jobs of that tick run neither twice nor in the old version", async () => {
  // An edit that does not wait plans below the watermark that the tick is about to raise: the new
  // version would never run.
  await world.put("often", { when: "every 1m", payload: "old" });
  const shard = await shardOf("often");
  const both = await world.sql.begin(async (tx) => {
    await tx`lock table carillon.jobs in share mode`;
    const ticking = fireShardBatch(world.sql, shard, 100, world.queue.timing);
    await until("the tick waits to make its jobs", async () => (await waitingLocks(world.sql)) === 1);
    const editing = world.patch("often", { payload: "new" });
    await until("the edit waits", async () => (await waitingLocks(world.sql, planLock)) === 1);
    return [ticking, editing] as const;
  });
  await Promise.all(both);
  expect(await planned()).toEqual([1, 2, 3].map((n) => [at(n * minute), 2]));
  await world.clock.advance(90 * second);
  await world.tick();
  await world.work();
  expect(world.delivered.map(({ payload }) => payload)).toEqual(["new"]);
});

test("a delete waits for a running claim, and leaves the started job to its worker", async () => {
  // Otherwise the answer says that no job starts any more, while a worker is about to start one.
  await world.put("often", { when: "every 1m" });
  await world.tick();
  await world.clock.advance(minute);
  const [first] = await world.jobs("often");
  const parcel = first?.parcelId ?? "0";
  const both = await world.sql.begin(async (tx) => {
    await tx`select from carillon.parcels where id = ${parcel} for update`;
    const claiming = claimParcel(world.sql, parcel, minute);
    await until("the claim waits for its parcel", async () => (await waitingLocks(world.sql)) === 1);
    const removing = world.remove("often");
    await until("the delete waits", async () => (await waitingLocks(world.sql, gate)) === 1);
    return [claiming, removing] as const;
  });
  const [claim] = await Promise.all(both);
  expect(claim.outcome).toBe("claimed");
  expect(await world.jobs("often")).toMatchObject([{ state: "waiting", parcelId: first?.parcelId }]);
});

test("the cut of an edit is the time at which it has its locks: jobs that became due while it waited keep the old version", async () => {
  // The claim that the edit waited for may hold the job of that instant, which must not run again
  // in the new version.
  await world.put("often", { when: "every 1m" });
  await world.tick();
  const shard = await shardOf("often");
  const editing = await world.sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock_shared(${gate}::int, ${shard}::int)`;
    const edits = [world.patch("often", { payload: "new" })];
    await until("the edit waits", async () => (await waitingLocks(world.sql, gate)) === 1);
    await world.clock.advance(90 * second);
    return edits;
  });
  await Promise.all(editing);
  expect((await planned()).slice(0, 2)).toEqual([
    [at(minute), 1],
    [at(2 * minute), 2],
  ]);
});
