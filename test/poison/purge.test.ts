import { afterEach, beforeEach, expect, test } from "vitest";
import { type Carillon, carillon } from "../support/carillon.ts";
import { day, minute } from "../support/instants.ts";
import { quarantined } from "./poison.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const over = async () =>
  (
    await world.sql<{ key: string }[]>`
      select s.key from carillon.over_schedules o join carillon.schedules s on s.id = o.schedule_id order by s.key`
  ).map(({ key }) => key);

test("A schedule of which nobody can tell whether it is over keeps no other from being noted, is in quarantine, and is noted once mended", async () => {
  for (const key of ["a", "b", "c"])
    await world.put(key, { when: ["at 2026-03-02T10:01", `at 2026-03-02T10:0${"abc".indexOf(key) + 3}`] });
  await world.tick();
  await world.clock.advance(10 * minute);
  await world.work();
  await world.tick();
  const exchange = (from: string, to: string) => world.sql`
    update carillon.cadences c set expression = replace(expression, ${from}, ${to})
    from carillon.schedule_versions v join carillon.schedules s on s.id = v.schedule_id where v.cadence_id = c.id and s.key = 'a'`;
  await exchange("2026", "2026x 2026");
  await world.clock.advance(2 * day);
  await world.tick({ retentionDays: 5 });
  await world.tick({ retentionDays: 5 });
  expect(await over()).toEqual(["b", "c"]);
  expect(await quarantined(world)).toMatchObject([
    { consumer: "purge", reason: expect.stringContaining("Error") },
  ]);

  await exchange("2026x 2026", "2026");
  for (let each = 0; each < 3; each++) {
    await world.clock.advance(day / 2);
    await world.tick({ retentionDays: 5 });
  }
  expect(await over()).toEqual(["a", "b", "c"]);
  expect(await quarantined(world)).toEqual([]);
});
