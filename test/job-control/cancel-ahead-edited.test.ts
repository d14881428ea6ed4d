import { afterEach, beforeEach, expect, test } from "vitest";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import { cancelMany } from "../../lib/job-control/cancel-many.ts";
import { connectThrough } from "../race/lines.ts";
import { heldBefore } from "../race/stage.ts";
import { type Carillon, carillon } from "../support/carillon.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  await world.tick();
});

afterEach(() => world.stop());

test("a cancel of jobs without a row keeps a schedule that a later edit has given a cadence", async () => {
  // Otherwise the cancel of one job deletes a schedule that was to run every day.
  await world.put("report", { when: "in 3d", deleteOnEnd: true });
  const held = heldBefore("begin");
  const sql = connectThrough(world.databaseUrl, held.wrap, { max: 2 });
  const params = { filter: { key: "report" }, limit: 10, caller: { name: "ann" } };
  const cancelling = cancelMany({ sql, queue: world.queue, log: world.log }, params);
  await held.reached;
  await world.put("report", { when: "every 1d", deleteOnEnd: true });
  held.go();
  expect(await cancelling).toMatchObject({ done: 0 });
  await sql.end();
  expect(await readSchedule(world.sql, "report")).toMatchObject({ state: "active", version: 2 });
});
