import { afterEach, beforeEach, expect, test } from "vitest";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";
import { mend, poison, quarantined, raised, told } from "./poison.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const parcels = () =>
  world.sql<{ id: string; leased: boolean; offers: number }[]>`
    select id, lease_until is not null as leased, offers from carillon.parcels order by id`;

/** Three due jobs, each in a parcel of its own; their messages are lost. */
async function threeParcels(): Promise<[string, string, string]> {
  world.queue.fate = () => "lost";
  for (const key of ["a", "b", "c"]) await world.put(key, { when: `at ${at(minute).toISOString()}` });
  await world.sql`update carillon.schedules set shard = ascii(key) - 97`;
  await world.sql`
    update carillon.plan p set shard = s.shard from carillon.schedules s where s.id = p.schedule_id`;
  await world.tick();
  await world.clock.setNow(at(minute));
  const [a, b, c] = (await parcels()).map(({ id }) => id);
  if (a === undefined || b === undefined || c === undefined) throw new Error("Three parcels were not made.");
  return [a, b, c];
}

test("A parcel whose lease cannot be ended is set aside, does not stop the others, and continues once repaired", async () => {
  const [bad, ...others] = await threeParcels();
  for (const id of [bad, ...others]) await claimParcel(world.sql, id, 30 * second);
  await world.sql`update carillon.parcels set offer_at = offer_at - interval '1 second' where id = ${bad}`;
  await poison(world.sql, "parcels", `old.id = ${bad}`);
  await world.clock.advance(minute);
  await world.tick();
  expect((await parcels()).filter(({ leased }) => leased)).toMatchObject([{ id: bad }]);
  expect(await quarantined(world)).toEqual([{ consumer: "lease", item: bad, reason: raised, tries: 1 }]);
  expect(told(world)).toEqual([["lease", bad]]);

  await world.clock.advance(minute);
  await world.tick();
  expect(await quarantined(world)).toMatchObject([{ item: bad, tries: 2 }]);

  await mend(world.sql, "parcels");
  await world.clock.advance(minute);
  await world.tick();
  expect((await parcels()).filter(({ leased }) => leased)).toMatchObject([{ id: bad }]);
  await world.clock.advance(minute);
  await world.tick();
  expect((await parcels()).filter(({ leased }) => leased)).toEqual([]);
  expect(await quarantined(world)).toEqual([]);
});

test("A parcel that cannot be offered again is set aside, does not stop the others, and continues once repaired", async () => {
  const [bad, ...others] = await threeParcels();
  world.queue.fate = () => "arrives";
  await poison(world.sql, "parcels", `old.id = ${bad}`);
  await world.clock.advance(minute);
  await world.tick();
  // Both were due at one instant, so either may be sent first.
  expect(world.queue.messages.map(({ body }) => JSON.parse(body).parcel).toSorted()).toEqual(others);
  expect(await quarantined(world)).toEqual([{ consumer: "offer", item: bad, reason: raised, tries: 1 }]);

  await mend(world.sql, "parcels");
  await world.clock.advance(minute);
  await world.tick();
  expect(await quarantined(world)).toEqual([]);
  await world.work();
  expect(world.delivered.map(({ key }) => key).toSorted()).toEqual(["a", "b", "c"]);
});

test("Parcels that have failed before and come first in a sweep never fill it", async () => {
  await threeParcels();
  await world.sql`
    insert into carillon.parcels (shard, queue, ready_at, offer_at, occurrences, schedule_ids)
    select 0, 'fast', carillon.clock(), carillon.clock() - interval '1 hour', '{}', '{}' from generate_series(1, 1100)`;
  await world.sql`
    insert into carillon.quarantine (consumer, item, reason, first_at, last_at, tries, next_at)
    select 'offer', id, 'no', carillon.clock(), carillon.clock(), 3, ${at(10 * minute)} from carillon.parcels where occurrences = '{}'`;
  await poison(world.sql, "parcels", "cardinality(old.occurrences) = 0");
  world.queue.fate = () => "arrives";
  await world.clock.advance(minute);
  await world.tick();
  expect(world.queue.messages).toHaveLength(3);
  expect(await quarantined(world)).toHaveLength(1_100);
});
