import { afterEach, beforeEach, expect, test } from "vitest";
import { applyOperations } from "../../lib/batch/apply-operations.ts";
import { fireNow } from "../../lib/job-control/fire-now.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";
import { quarantined } from "./poison.ts";
import { idOf, keysWhere } from "./row-scenario.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const keys = ["a", "b", "c"];
const body = { when: "* * * * *", catchUp: { policy: "all" } };
const withJobs = () => keysWhere(world, "exists (select from carillon.jobs j where j.schedule_id = s.id)");

/** The tables after a restore of single tables: `b` has lost its versions. */
const loseVersionsOfB = () =>
  world.sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    await tx`delete from carillon.schedule_versions where schedule_id = (select id from carillon.schedules where key = 'b')`;
  });

test("A schedule without its versions is set aside by the tick, the others fire, and a put repairs it", async () => {
  for (const key of keys) await world.put(key, body);
  await loseVersionsOfB();
  await world.clock.advance(minute);
  await world.tick();
  expect(await withJobs()).toEqual(["a", "c"]);
  expect(await quarantined(world)).toMatchObject([
    { consumer: "plan", item: await idOf(world, "b"), reason: expect.stringContaining("has no row") },
  ]);
  await world.put("b", body);
  await world.tick();
  expect(await quarantined(world)).toEqual([]);
  expect(await withJobs()).toEqual(keys);
});

test("A schedule without its versions cannot be fired by a caller, and can after a put", async () => {
  for (const key of keys) await world.put(key, body);
  await loseVersionsOfB();
  const fire = () => fireNow(world, { key: "b", caller: { name: "ann" } });
  await expect(fire()).rejects.toMatchObject({
    kind: "conflict",
    message:
      "The stored version 1 has no row in carillon.schedule_versions. Replace the schedule with a PUT, or delete it.",
  });
  expect(await withJobs()).toEqual([]);
  await world.put("b", body);
  expect(await fire()).toMatchObject({ key: "b", version: 2 });
});

test("A batch puts, holds and deletes schedules with missing or later versions like others", async () => {
  for (const key of keys) await world.put(key, body);
  await loseVersionsOfB();
  await world.sql`
    insert into carillon.schedule_versions
    select (jsonb_populate_record(v, jsonb_build_object('version', 7, 'spec_version', 7))).* from carillon.schedule_versions v
    where schedule_id = (select id from carillon.schedules where key = 'c')`;
  const caller = { name: "ann" };
  const done = await applyOperations(world, [
    { kind: "put", key: "b", caller, body: parseScheduleBody({ target: { queue: "demo" }, ...body }) },
    { kind: "pause", key: "c", caller },
  ]);
  expect(done).toMatchObject([
    { change: "changed", key: "b", version: 2 },
    { change: "changed", key: "c", version: 8 },
  ]);
  await loseVersionsOfB();
  expect(
    await applyOperations(
      world,
      keys.map((key) => ({ kind: "delete", key, caller }) as const),
    ),
  ).toMatchObject(keys.map((key) => ({ change: "deleted", key })));
});
