import { afterEach, beforeEach, expect, test } from "vitest";
import { type Carillon, carillon } from "../support/carillon.ts";
import { hour } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";
import { mend, poison, quarantined, raised, told } from "./poison.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon({ roles: functionRoles });
  await world.sql`update carillon.target_round set look_at = carillon.clock()`;
});

afterEach(() => world.stop());

const names = async () =>
  (await world.sql<{ name: string }[]>`select name from carillon.targets order by id`).map(
    ({ name }) => name,
  );

test("A target that cannot be deleted is set aside, does not stop the others, and is deleted once repaired", async () => {
  await world.sql`select carillon.target_named('queue/' || i) from generate_series(1, 20) i`;
  await world.sql`update carillon.targets set unused_at = carillon.clock() - interval '25 hours'`;
  await poison(world.sql, "targets", "old.name = 'queue/7'");
  await world.tick();
  expect(await names()).toEqual(["queue/7"]);
  expect(await quarantined(world)).toEqual([
    { consumer: "unused-target", item: "7", reason: raised, tries: 1 },
  ]);
  expect(told(world)).toEqual([["unused-target", "7"]]);

  await mend(world.sql, "targets");
  await world.clock.advance(hour);
  await world.tick();
  expect(await names()).toEqual([]);
  expect(await quarantined(world)).toEqual([]);
});

test("A target that cannot be marked does not stop the others", async () => {
  await world.sql`select carillon.target_named('queue/' || i) from generate_series(1, 20) i`;
  await poison(world.sql, "targets", "old.name = 'queue/7'");
  await world.tick();
  const [row] =
    await world.sql`select count(*)::int as marked from carillon.targets where unused_at is not null`;
  expect(row).toEqual({ marked: 19 });
  expect(told(world)).toEqual([["unused-target", "7"]]);
});
