import { afterEach, beforeEach, expect, test } from "vitest";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";
import { quarantined } from "./poison.ts";

let world: Carillon;

const keys = Array.from({ length: 40 }, (_, n) => `k${String(n).padStart(2, "0")}`);

beforeEach(async () => {
  world = await carillon({ roles: functionRoles });
  for (const key of keys) await world.put(key, { when: "every 1m" });
  await world.clock.advance(minute);
});

afterEach(() => world.stop());

const made = async () => new Set((await world.jobs()).map(({ key }) => key)).size;

test("A right that the tick lacks for a minute sets few schedules aside, and the others are fired once it is granted", async () => {
  await world.sql`revoke insert on carillon.jobs from carillon_tick`;
  await expect(world.tick()).rejects.toThrow("42501");
  const aside = (await quarantined(world)).length;
  expect(aside).toBeGreaterThan(0);
  expect(aside).toBeLessThanOrEqual(10);

  await world.sql`grant insert on carillon.jobs to carillon_tick`;
  await world.tick();
  expect(await made()).toBeGreaterThanOrEqual(keys.length - aside);
});

test("Rows that a trigger refuses with a schema error are set aside, however many they are, if others can be fired", async () => {
  await world.sql.unsafe(`
    create function public.refused() returns trigger language plpgsql as $$ begin perform public.no_such_function(); return new; end $$;
    create trigger refused before insert on carillon.jobs for each row when (new.schedule_id % 2 = 0) execute function public.refused()`);
  for (let tick = 0; tick < 3; tick++) await world.tick().catch(() => {});
  const [odd] = await world.sql<{ n: number }[]>`
    select count(*)::int as n from carillon.schedules where id % 2 <> 0`;
  expect(await made()).toBe(odd?.n);
});
