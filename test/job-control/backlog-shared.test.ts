import { afterEach, beforeEach, expect, test } from "vitest";
import { backfillSchedule } from "../../lib/job-control/backfill.ts";
import { admitBacklog, backlogDefaults } from "../../lib/tick/house/admit-backlog.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, hour, second } from "../support/instants.ts";
import { until } from "../support/until.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

test("the tick leaves a list that another tick serves to that one, and goes on with the others", async () => {
  // Else one tick that is stuck keeps what every other schedule is owed.
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
    await until("the other list is served", async () => (await made())[0]?.jobs === 300);
    // Not before the tick has looked for more: let go earlier, the list is served by it as well.
    await admitting;
  });
  expect(await made()).toEqual([
    { key: "free", jobs: 300 },
    { key: "served", jobs: 100 },
  ]);
});
