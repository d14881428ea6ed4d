import { afterEach, beforeEach, expect, test } from "vitest";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { delaySeconds } from "../../lib/parcel/parcel-queue.ts";
import { sweep, watchedLeases } from "../../lib/parcel/sweep.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";
import { due, oneParcel } from "../support/parcels.ts";

let world: Carillon;
let id: string;

beforeEach(async () => {
  world = await carillon();
  id = await oneParcel(world, 1);
});

afterEach(() => world.stop());

test("the sweep reads a renewed lease once, and then when it ends", async () => {
  await claimParcel(world.sql, id, 30 * second);
  await world.sql`update carillon.parcels set lease_until = lease_until + interval '10 minutes'`;
  await world.clock.advance(minute);
  const looked = async () => (await sweep(world.sql, world.log)).looked;
  expect(await looked()).toBe(1);
  // Otherwise a thousand long jobs would fill each sweep, and no lost message would be replaced.
  expect(await looked()).toBe(0);
  await world.clock.advance(10 * minute);
  expect(await looked()).toBe(1);
});

test("a parcel that the sweep has sent ahead of its time is sent again only after that time", async () => {
  await world.sql`update carillon.parcels set ready_at = ${at(10 * minute)}, offer_at = ${due}`;
  const sent = async () => (await sweep(world.sql, world.log)).outgoing.length;
  expect(await sent()).toBe(1);
  // Otherwise each sweep before that time would send another message.
  await world.clock.setNow(at(10 * minute));
  expect(await sent()).toBe(0);
  await world.clock.advance(2 * minute);
  expect(await sent()).toBe(1);
});

test("the message that watches a lease arrives after the lease has ended", async () => {
  await claimParcel(world.sql, id, 30 * second);
  const [watch] = await watchedLeases(world.sql);
  // An earlier message would find a lease that goes on, and the jobs of a dead worker would wait
  // for the next tick.
  expect(delaySeconds(watch?.waitMs ?? 0)).toBeGreaterThan(30);
});
