import { afterEach, beforeEach, expect, test } from "vitest";
import { dropForgotten, setAside } from "../../lib/quarantine/quarantine.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { day, hour, minute } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";
import { quarantined } from "./poison.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon({ roles: functionRoles });
});

afterEach(() => world.stop());

test("The tick drops a quarantine entry that no consumer has retried within an hour of its time", async () => {
  await setAside(world.sql, "lease", [{ item: "7", error: new Error("no") }]);
  await world.clock.advance(hour);
  await world.tick();
  expect(await quarantined(world)).toHaveLength(1);
  await world.clock.advance(2 * minute);
  await world.tick();
  expect(await quarantined(world)).toEqual([]);
});

test("The tick never drops a plan entry from quarantine, however long no tick ran", async () => {
  await world.put("daily", { when: "0 9 * * *" });
  const [stored] = await world.sql<{ id: string }[]>`select id from carillon.schedules`;
  const id = stored?.id ?? "";
  const detail = {
    version: 1,
    occurrence: "2026-03-03T09:00:00Z",
    dueAt: "2026-03-03T09:00:00Z",
    heldSince: null,
  };
  await setAside(world.sql, "plan", [{ item: id, scheduleId: id, error: new Error("no"), detail }]);
  await world.clock.advance(3 * day);
  expect(await dropForgotten(world.sql, 100)).toBe(0);
  expect(await quarantined(world)).toHaveLength(1);
});
