import { afterEach, beforeEach, expect, test } from "vitest";
import { pauseLabel } from "../../lib/batch/label-holds.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";
import { quarantined } from "./poison.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

/** Small tables such as the quarantine still have space. */
async function fillDiskOf(table: string): Promise<void> {
  await world.sql.unsafe(`
    create or replace function public.disk_full() returns trigger language plpgsql as
      $$ begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$;
    create trigger disk_full before insert on carillon.${table} for each row execute function public.disk_full()`);
}

const freeDiskOf = (table: string) => world.sql.unsafe(`drop trigger disk_full on carillon.${table}`);

test("A disk without space for jobs sets no schedule aside: once it has space, the next tick makes all jobs", async () => {
  const keys = ["a", "b", "c", "d"];
  for (const key of keys) await world.put(key, { when: "in 2m" });
  await fillDiskOf("jobs");
  await expect(world.tick()).rejects.toThrow("53100");
  expect(await quarantined(world)).toEqual([]);
  await freeDiskOf("jobs");
  await world.clock.advance(minute);
  await world.tick();
  expect((await world.jobs()).map(({ key, state }) => `${key} ${state}`)).toEqual(
    keys.map((key) => `${key} waiting`),
  );
});

test("A disk without space for versions sets no member aside: the hold of a group continues once it has space", async () => {
  for (const key of ["a", "b", "c"]) await world.put(key, { when: "every 1h", group: "g" });
  await pauseLabel(
    world,
    { label: { scope: "group", name: "g" }, caller: { name: "ann" } },
    { most: 0, timeIsUp: () => false },
  );
  await fillDiskOf("schedule_versions");
  await expect(world.tick()).rejects.toThrow("53100");
  expect(await quarantined(world)).toEqual([]);
  await freeDiskOf("schedule_versions");
  await world.tick();
  expect(await world.sql`select from carillon.holds`).toHaveLength(3);
});
