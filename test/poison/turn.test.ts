import { afterEach, beforeEach, expect, test } from "vitest";
import { dueOnce, parcels } from "../parcel/limit-world.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute } from "../support/instants.ts";
import { mend, poison, quarantined, raised, told } from "./poison.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const waiting = async (name: string) =>
  (await parcels(world, `handler/${name}`)).filter(({ turn }) => turn === "waits").length;

test("A target at which no turn can be given keeps no other's from it, is in quarantine, and goes on once mended", async () => {
  for (const name of ["a", "b"]) await dueOnce(world, name, 1);
  await world.tick();
  world.queue.messages = [];
  await world.sql`
    update carillon.parcels set turn = 'waits', turn_at = ${at(minute)}, ready_at = 'infinity', offer_at = 'infinity'`;
  const [bad] = await world.sql<{ id: string }[]>`
    select id::text from carillon.targets where name = 'handler/a'`;
  await poison(world.sql, "parcels", `old.target_id = ${bad?.id}`);
  await world.clock.advance(2 * minute);
  await world.tick();
  expect([await waiting("a"), await waiting("b")]).toEqual([1, 0]);
  expect(await quarantined(world)).toEqual([{ consumer: "turn", item: bad?.id, reason: raised, tries: 1 }]);
  expect(told(world)).toEqual([["turn", bad?.id]]);

  await mend(world.sql, "parcels");
  await world.clock.advance(minute);
  await world.tick();
  expect([await waiting("a"), await waiting("b")]).toEqual([0, 0]);
  expect(await quarantined(world)).toEqual([]);
});
