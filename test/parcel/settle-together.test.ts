import { afterEach, beforeEach, expect, test } from "vitest";
import type { ClaimedParcel } from "../../lib/parcel/claim.ts";
import { claimTogether } from "../../lib/parcel/claim-together.ts";
import { notifyByDefault } from "../../lib/parcel/settle.ts";
import { settleTogether } from "../../lib/parcel/settle-together.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute, second } from "../support/instants.ts";
import { due } from "../support/parcels.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

/** Two jobs that are due together, each in a parcel of its own. */
async function twoParcels(): Promise<string[]> {
  for (const [index, key] of ["a", "b"].entries()) {
    await world.put(key, { when: `at ${due.toISOString()}` });
    await world.sql`update carillon.schedules set shard = ${index} where key = ${key}`;
  }
  await world.sql`update carillon.plan p set shard = s.shard from carillon.schedules s where s.id = p.schedule_id`;
  await world.tick();
  await world.clock.setNow(due);
  const rows = await world.sql<{ id: string }[]>`select id from carillon.parcels order by shard`;
  return rows.map(({ id }) => id);
}

async function twoClaimed(): Promise<ClaimedParcel[]> {
  const ids = await twoParcels();
  const claimed = await claimTogether(world.sql, ids, minute);
  return ids.flatMap((id) => claimed.get(id) ?? []);
}

/** Settles both by one statement; returns for each whether it was settled. */
function settleBoth(parcels: readonly ClaimedParcel[]): Promise<boolean[]> {
  const { sql, queue, log } = world;
  const settle = settleTogether({ sql, queue, log, notify: notifyByDefault });
  return Promise.all(parcels.map((parcel) => settle(parcel)));
}

const states = async () => (await world.jobs()).map(({ key, state }) => `${key} ${state}`);

test("a worker that has lost the lease of one parcel settles only the others with the same statement", async () => {
  const claimed = await twoClaimed();
  // Another worker has claimed the second parcel since. Without the fence, this worker would settle
  // that worker's jobs.
  await world.sql`update carillon.parcels set fence = fence + 1 where id = ${claimed[1]?.id ?? ""}`;
  expect(await settleBoth(claimed)).toEqual([true, false]);
  expect(await states()).toEqual(["a succeeded", "b waiting"]);
});

test("a parcel that has passed a lane is not settled with others, because that would not hand the lane over", async () => {
  const claimed = await twoClaimed();
  await world.sql`update carillon.parcels set laned = true where id = ${claimed[1]?.id ?? ""}`;
  expect(await settleBoth(claimed)).toEqual([true, false]);
  expect(await states()).toEqual(["a succeeded", "b waiting"]);
});

test("jobs from the backlog count as succeeded and not as late", async () => {
  await twoParcels();
  await world.sql`update carillon.parcels set owed = true`;
  await world.clock.advance(30 * second);
  await world.work();
  expect(await states()).toEqual(["a succeeded", "b succeeded"]);
  const tallies = await world.sql`
    select sum(succeeded)::int as succeeded, (select sum(n)::int from carillon.tallies t, unnest(t.late_jobs) n) as late from carillon.tallies`;
  expect(tallies).toEqual([{ succeeded: 2, late: null }]);
});
