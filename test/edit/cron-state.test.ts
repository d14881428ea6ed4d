import { expect, test } from "vitest";
import { systemClock } from "../../lib/clock.ts";
import { connect } from "../../lib/db/connect.ts";
import { deleteSchedule, putSchedule } from "../../lib/edit/schedule-edits.ts";
import { pauseSchedule, resumeSchedule } from "../../lib/edit/schedule-holds.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { memoryQueues } from "../race/memory-queues.ts";
import { testDatabase } from "../support/database.ts";

test("a cron schedule can be paused, resumed and deleted: only a version with a spec names a cadence", async () => {
  const database = await testDatabase();
  const sql = connect({ DATABASE_URL: database.url });
  const deps = { sql, queue: memoryQueues(systemClock, 30_000).sender() };
  const params = { key: "cron", caller: { name: "ann" } };
  await putSchedule(deps, {
    ...params,
    body: parseScheduleBody({ when: "0 9 * * *", target: { queue: "demo" } }),
  });
  const paused = await pauseSchedule(deps, params);
  expect(paused.schedule.state).toBe("paused");
  const resumed = await resumeSchedule(deps, params);
  expect(resumed.schedule).toMatchObject({ state: "active", cadence: "0 9 * * *", version: 3 });
  await deleteSchedule(deps, params);
  await sql.end();
  await database.drop();
});
