import { afterEach, beforeEach, expect, test } from "vitest";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";
import { impatientTick, mend, poison, quarantined, raised, told } from "./poison.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const keys = ["a", "b", "c"];

/**
 * A job of each schedule waits in its lane, and the job before it is gone without having handed the
 * lane on.
 */
async function waitingInLanes(): Promise<void> {
  for (const key of keys) await world.put(key, { when: "every 10s", overlap: "queue", maxFires: 2 });
  await world.tick();
  world.queue.messages = [];
  await world.clock.setNow(at(20 * second));
  for (const key of keys) {
    for (const { parcelId } of await world.jobs(key)) await claimParcel(world.sql, parcelId ?? "0", minute);
  }
  await world.sql`delete from carillon.parcels where lane is null`;
  await world.sql`
    update carillon.jobs set state = 'cancelled', parcel_id = null, finished_at = carillon.clock() where occurrence = ${at(10 * second)}`;
}

const laned = async () =>
  (await world.sql<{ lane: string }[]>`select lane from carillon.parcels where lane is not null`).map(
    ({ lane }) => lane,
  );

test("A lane that cannot be swept is set aside, does not stop the others, and continues once repaired", async () => {
  await waitingInLanes();
  const [bad = ""] = (await laned()).toSorted();
  await poison(world.sql, "parcels", `old.lane = '${bad}'`);
  await world.clock.advance(minute);
  await world.tick();
  expect(await laned()).toEqual([bad]);
  expect(await quarantined(world)).toEqual([{ consumer: "lane", item: bad, reason: raised, tries: 1 }]);
  expect(told(world)).toEqual([["lane", bad]]);

  await mend(world.sql, "parcels");
  await world.clock.advance(minute);
  await world.tick();
  expect(await laned()).toEqual([]);
  await world.work();
  expect(world.delivered.map(({ key }) => key).toSorted()).toEqual(keys);
});

test("A lane that another transaction has locked is waited for briefly, and does not stop the others", async () => {
  await waitingInLanes();
  const [bad = ""] = (await laned()).toSorted();
  await impatientTick(world);
  await world.clock.advance(minute);
  await world.sql.begin(async (tx) => {
    await tx`select from carillon.parcels where lane = ${bad} for update`;
    await world.tick();
    expect(await laned()).toEqual([bad]);
    expect(await quarantined(world)).toMatchObject([{ consumer: "lane", item: bad }]);
  });
});
