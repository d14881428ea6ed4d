import { afterEach, beforeEach, expect, test } from "vitest";
import { setAside } from "../../lib/quarantine/quarantine.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { day, minute } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";
import { quarantined } from "./poison.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon({ roles: functionRoles });
});

afterEach(() => world.stop());

test("The tick forgets a row in quarantine that nobody has tried for a day after its time", async () => {
  await setAside(world.sql, "lease", [{ item: "7", error: new Error("no") }]);
  await world.clock.advance(day);
  await world.tick();
  expect(await quarantined(world)).toHaveLength(1);
  await world.clock.advance(2 * minute);
  await world.tick();
  expect(await quarantined(world)).toEqual([]);
});
