import { afterEach, beforeEach, expect, test } from "vitest";
import { backfillSchedule } from "../../lib/job-control/backfill.ts";
import { admitBacklog, backlogDefaults } from "../../lib/tick/housekeeping/admit-backlog.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, hour, second } from "../support/instants.ts";
import { until } from "../support/until.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

test("a tick leaves a backlog row that another tick processes, and continues with the others", async () => {
  // Otherwise a stuck tick blocks the backlog of every other schedule.
  for (const key of ["served", "free"]) await world.put(key, { when: "every 1m" });
  await world.clock.advance(10 * hour);
  await world.tick();
  for (const key of ["served", "free"]) {
    const params = { key, from: at(0), to: at(5 * hour), limit: 1_000, caller: { name: "ann" } };
    await backfillSchedule({ sql: world.sql, queue: world.queue }, params);
  }
  await world.clock.advance(second);
  const made = () => world.sql<{ key: string; jobs: number }[]>`
    select s.key, count(*)::int as jobs from carillon.jobs j join carillon.schedules s on s.id = j.schedule_id
    where j.kind = 'backfill' group by 1 order by 1`;
  await world.sql.begin(async (tx) => {
    await tx`
      select from carillon.backlog where schedule_id = (select id from carillon.schedules where key = 'served') for update`;
    const admitting = admitBacklog(world, backlogDefaults);
    await until("the other backlog row is processed", async () => (await made())[0]?.jobs === 300);
    // Only after the tick has searched for more: released earlier, the row is processed by this
    // tick too.
    await admitting;
  });
  expect(await made()).toEqual([
    { key: "free", jobs: 300 },
    { key: "served", jobs: 100 },
  ]);
});
