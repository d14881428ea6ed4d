import { afterEach, beforeEach, expect, test } from "vitest";
import { type Carillon, carillon } from "../support/carillon.ts";
import { day, hour, minute } from "../support/instants.ts";
import { planSteps } from "./plan-steps.ts";
import { quarantined } from "./poison.ts";
import { bad, keys, rowPoisons, zoneOfBad } from "./row-poisons.ts";
import { idOf, keysWhere } from "./row-scenario.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const { refuseJobsOf } = planSteps(() => world);

const over = async () =>
  (
    await world.sql<{ key: string }[]>`
      select s.key from carillon.over_schedules o join carillon.schedules s on s.id = o.schedule_id order by s.key`
  ).map(({ key }) => key);

test("A schedule that the purge cannot mark as over is set aside, does not stop the others, and is marked once repaired", async () => {
  for (const key of ["a", "b", "c"])
    await world.put(key, { when: ["at 2026-03-02T10:01", `at 2026-03-02T10:0${"abc".indexOf(key) + 3}`] });
  await world.tick();
  await world.clock.advance(10 * minute);
  await world.work();
  await world.tick();
  const [bad] = await world.sql<{ id: string }[]>`select id from carillon.schedules where key = 'a'`;
  await world.sql.unsafe(`
    create function public.poisoned() returns trigger language plpgsql as $$ begin raise exception 'poisoned'; end $$;
    create trigger poison before insert on carillon.over_schedules for each row when (new.schedule_id = ${bad?.id}) execute function public.poisoned()`);
  await world.clock.advance(2 * day);
  await world.tick({ retentionDays: 5 });
  await world.tick({ retentionDays: 5 });
  expect(await over()).toEqual(["b", "c"]);
  expect(await quarantined(world)).toMatchObject([
    { consumer: "purge", reason: expect.stringContaining("Error") },
  ]);

  await world.sql`drop trigger poison on carillon.over_schedules`;
  for (let each = 0; each < 3; each++) {
    await world.clock.advance(day / 2);
    await world.tick({ retentionDays: 5 });
  }
  expect(await over()).toEqual(["a", "b", "c"]);
  expect(await quarantined(world)).toEqual([]);
});

test("A schedule whose cadence cannot be read is not marked as over", async () => {
  for (const key of ["odd", "plain"])
    await world.put(key, { when: ["at 2026-03-02T10:01", `at 2026-03-02T10:0${key === "odd" ? 3 : 4}`] });
  await world.tick();
  await world.clock.advance(10 * minute);
  await world.work();
  await world.tick();
  await world.sql`
    update carillon.cadences c set expression = replace(expression, '2026', '2026x 2026')
    from carillon.schedule_versions v join carillon.schedules s on s.id = v.schedule_id where v.cadence_id = c.id and s.key = 'odd'`;
  await world.clock.advance(2 * day);
  await world.tick({ retentionDays: 5 });
  await world.tick({ retentionDays: 5 });
  expect(await over()).toEqual(["plain"]);
  expect(await quarantined(world)).toEqual([]);
});

test("A single run that could not be planned outlasts the retention, and runs once it can", async () => {
  for (const key of ["kept", "plain"]) await world.put(key, { when: "in 2m" });
  await refuseJobsOf("kept");
  await world.tick();
  expect(await quarantined(world)).toMatchObject([{ consumer: "plan" }]);
  const keys = async () =>
    (await world.sql<{ key: string }[]>`select key from carillon.schedules order by key`).map(
      ({ key }) => key,
    );
  const pass = async (days: number) => {
    for (let each = 0; each < days; each++) {
      await world.clock.advance(day);
      await world.work();
      await world.tick({ retentionDays: 5 });
      await world.tick({ retentionDays: 5 });
    }
  };
  await pass(12);
  expect(await keys()).toEqual(["kept"]);
  await world.sql`drop trigger test_refuse on carillon.jobs`;
  await pass(1);
  expect(await quarantined(world)).toEqual([]);
  expect(world.delivered.map(({ key }) => key)).toEqual(["plain"]);
  await world.work();
  expect(world.delivered.map(({ key }) => key)).toEqual(["plain", "kept"]);
});

test.each(["unwritable", "slow"] as const)(
  "A schedule that cannot be purged (%s) is set aside, does not stop the others, and is purged once repaired",
  async (name) => {
    for (const key of keys) await world.put(key, { when: "0 9 1 1 *", timezone: zoneOfBad });
    const id = await idOf(world, bad);
    for (const key of keys) await world.remove(key);
    await world.clock.advance(8 * day);
    const left = () => keysWhere(world, "true");
    const spot = {
      table: "schedules",
      condition: (row: string) => `${row}.id = ${id}`,
      on: "delete",
    } as const;
    await rowPoisons[name].during(world, spot, async () => {
      await world.tick({ retentionDays: 5 });
      expect(await left()).toEqual([bad]);
      expect(await quarantined(world)).toMatchObject([
        { consumer: "purge", item: id, reason: expect.stringContaining(rowPoisons[name].reason), tries: 1 },
      ]);
    });
    await world.clock.advance(2 * hour);
    for (let each = 0; each < 2; each++) await world.tick({ retentionDays: 5 });
    expect(await left()).toEqual([]);
    expect(await quarantined(world)).toEqual([]);
  },
);
