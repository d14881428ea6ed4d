import { afterEach, beforeEach, expect, test } from "vitest";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { dividePulses } from "../../lib/pulse/divide-pulses.ts";
import { settlePulses } from "../../lib/pulse/settle-pulses.ts";
import { at, minute, second } from "../support/instants.ts";
import { type BeatWorld, beatWorld } from "./beat-world.ts";

let world: BeatWorld;

beforeEach(async () => {
  world = await beatWorld();
  await world.store([{ id: 1, every: 600, offset: 20 }]);
  await world.tick();
  await world.clock.setNow(at(20 * second));
});

afterEach(() => world.stop());

/** A parcel that another worker has claimed since. */
async function lostParcel() {
  const id = await world.onlyParcel();
  const parcel = await claimParcel(world.sql, id, minute);
  if (parcel.outcome !== "pulses") throw new Error(`The parcel is ${parcel.outcome}.`);
  await world.sql`update carillon.parcels set fence = fence + 1 where id = ${id}`;
  return parcel;
}

test("a worker that has lost its lease of pulses does not settle them while another one sends them", async () => {
  const parcel = await lostParcel();
  const nothing = {
    taken: [],
    failed: new Map(),
    failedAfter: null,
    refused: new Map(),
    rest: null,
  };
  // If the first worker settled them, pulses that the other one does not send would be lost.
  expect((await settlePulses(world.sql, parcel, nothing)).held).toBe(false);
  expect(await world.onlyParcel()).toBe(parcel.id);
});

test("a worker that has lost its lease of pulses does not divide them while another one sends them", async () => {
  await world.store([{ id: 17, every: 600, offset: 20, team: 2 }]);
  const parcel = await lostParcel();
  // If it did, the pulses that the other worker has sent would be sent again.
  expect(await dividePulses(world.sql, parcel)).toEqual({ held: false, team: null, outgoing: [] });
  expect(await world.onlyParcel()).toBe(parcel.id);
});
