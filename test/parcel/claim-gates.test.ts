import { afterEach, beforeEach, expect, test } from "vitest";
import { gate } from "../../lib/db/locks.ts";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { claimTogether } from "../../lib/parcel/claim-together.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute, second } from "../support/instants.ts";
import { due } from "../support/parcels.ts";
import { until } from "../support/until.ts";
import { waitingLocks } from "../support/waiting-locks.ts";

/**
 * Edits pass the gate of their shard exclusively, and claims share it, so no job starts under an
 * edit that was acknowledged.
 */

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

/** A job for each delay, each in a shard and a parcel of its own. */
async function parcelsDue(...delays: readonly number[]): Promise<string[]> {
  for (const [index, delay] of delays.entries()) {
    await world.put(`k-${index}`, { when: `at ${new Date(due.getTime() + delay).toISOString()}` });
    await world.sql`update carillon.schedules set shard = ${index} where key = ${`k-${index}`}`;
  }
  await world.sql`update carillon.plan p set shard = s.shard from carillon.schedules s where s.id = p.schedule_id`;
  await world.tick();
  await world.clock.setNow(due);
  const rows = await world.sql<{ id: string }[]>`select id from carillon.parcels order by shard`;
  return rows.map(({ id }) => id);
}

/** Runs the claim while an edit holds the gate of shard 0 for five seconds. */
async function behindGate<Claimed>(claim: () => Promise<Claimed>): Promise<Claimed> {
  const claiming: Promise<Claimed>[] = [];
  await world.sql.begin(async (edit) => {
    await edit`select pg_advisory_xact_lock(${gate}::int, 0)`;
    claiming.push(claim());
    await until("the claim waits for the gate", async () => (await waitingLocks(world.sql, gate)) === 1);
    await world.clock.advance(5 * second);
  });
  const [claimed] = await Promise.all(claiming);
  if (claimed === undefined) throw new Error("There was no claim.");
  return claimed;
}

const passedGateAt = new Date(due.getTime() + 5 * second);

test("a claim of one parcel begins when it has passed the gate, not when it began to wait for it", async () => {
  const [id = ""] = await parcelsDue(0);
  const claimed = await behindGate(() => claimParcel(world.sql, id, minute));
  expect(claimed).toMatchObject({ outcome: "claimed", claimedAt: passedGateAt });
});

test("a claim of several parcels begins when it has passed all gates, not when it began to wait for the first", async () => {
  const ids = await parcelsDue(0, 0);
  const claimed = await behindGate(() => claimTogether(world.sql, ids, minute));
  expect([...claimed.values()].map(({ claimedAt }) => claimedAt)).toEqual([passedGateAt, passedGateAt]);
});

test("a claim of several parcels leaves out one that became ready while it waited, because it has not passed that one's gate", async () => {
  const [ready = "", later = ""] = await parcelsDue(0, 2 * second);
  const claimed = await behindGate(() => claimTogether(world.sql, [ready, later], minute));
  expect([...claimed.keys()]).toEqual([ready]);
});
