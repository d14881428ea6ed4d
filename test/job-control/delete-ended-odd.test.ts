import { afterEach, beforeEach, expect, test } from "vitest";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import { deleteEnded } from "../../lib/job-control/delete-ended.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute, second } from "../support/instants.ts";

let world: Carillon;
beforeEach(async () => {
  world = await carillon();
});
afterEach(() => world.stop());

const exists = async (key: string) => (await readSchedule(world.sql, key)) !== null;

const run = {
  timeIsUp: () => false,
  note: (error: unknown) => {
    throw error;
  },
};

test("a schedule with a zone unknown to this runtime has not ended, and does not prevent other deletes", async () => {
  await world.put("odd", { when: "0 9 * * *", deleteOnEnd: true });
  await world.put("beside", { when: "in 30s", deleteOnEnd: true });
  await world.put("elsewhere", { when: "in 30s", deleteOnEnd: true });
  await world.sql`update carillon.schedules set shard = case key when 'elsewhere' then 5 else 0 end`;
  await world.sql`
    update carillon.plan p set shard = s.shard from carillon.schedules s where s.id = p.schedule_id`;
  await world.tick();
  await world.clock.advance(minute);
  await world.work();
  // A zone that only a newer runtime knows.
  await world.sql`update carillon.cadences set timezone = 'America/Nowhere' where expression = '0 9 * * *'`;
  await world.sql`update carillon.schedules set end_look_at = carillon.clock() - interval '1 minute'`;
  expect(await deleteEnded(world, run)).toBe(2);
  for (const key of ["beside", "elsewhere"]) expect(await exists(key)).toBe(false);
  expect(await exists("odd")).toBe(true);
});

test("an ended schedule is deleted together with its ended hold", async () => {
  await world.put("one", { when: "every 1m", endsAt: "2026-03-02T10:05:00Z", deleteOnEnd: true });
  await world.tick();
  await world.pause("one", { until: new Date(world.clock.now().getTime() + 30 * second) });
  await world.clock.advance(10 * minute);
  await world.work();
  await world.sql`update carillon.schedules set end_look_at = carillon.clock() - interval '1 minute'`;
  expect(await world.sql`select from carillon.holds`).toHaveLength(1);
  expect(await deleteEnded(world, run)).toBe(1);
  expect(await world.sql`select from carillon.holds`).toHaveLength(0);
});
