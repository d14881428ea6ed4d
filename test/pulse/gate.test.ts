import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { applyOperations } from "../../lib/batch/apply-operations.ts";
import { applyWaves } from "../../lib/batch/apply-waves.ts";
import { pauseLabel } from "../../lib/batch/label-holds.ts";
import type { Operation } from "../../lib/batch/operation.ts";
import { closeGates, gate } from "../../lib/db/locks.ts";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import { fireNow } from "../../lib/job-control/fire-now.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { until } from "../support/until.ts";
import { waitingLocks } from "../support/waiting-locks.ts";
import { caller, emptied, pulse, pulseRow, unbounded } from "./pulse-rows.ts";

/**
 * A batch that edits pulses without jobs does not pass a gate, so claims and other batches go on
 * meanwhile.
 */

let world: Carillon;

beforeAll(async () => {
  world = await carillon();
});
beforeEach(() => emptied(world));
afterAll(() => world.stop());

const deps = () => ({ sql: world.sql, queue: world.queue });
const shards = Array.from({ length: 16 }, (_, shard) => shard);
const patch = (key: string, payload: unknown): Operation => ({
  kind: "patch",
  key,
  caller,
  patch: { payload },
});
const changed = (key: string, payload: unknown) => applyOperations(deps(), [patch(key, payload)]);
const payloadOf = async (key: string) => (await readSchedule(world.sql, key))?.body.payload;
const whileGatesAreClosed = <Done>(does: () => Promise<Done>) =>
  world.sql.begin(async (tx) => {
    await closeGates(tx, shards);
    return does();
  });

/** The edit waits at a gate until that is opened. */
async function expectToWait(edit: () => Promise<unknown>): Promise<void> {
  let edited: Promise<unknown> = Promise.resolve();
  await whileGatesAreClosed(async () => {
    edited = edit();
    await until("the edit waits at the gate", async () => (await waitingLocks(world.sql, gate)) > 0);
  });
  await edited;
}

test("a batch that changes and deletes pulses does not wait at a gate", async () => {
  for (const key of ["a", "b", "c"]) await world.put(key, pulse);
  const results = await whileGatesAreClosed(() =>
    applyOperations(deps(), [
      patch("a", 1),
      { kind: "delete", key: "b", caller },
      { kind: "put", key: "c", caller, body: parseScheduleBody({ ...pulse, when: "every 1m" }) },
    ]),
  );
  expect(results.map(({ change }) => change)).toEqual(["changed", "deleted", "changed"]);
  expect(await payloadOf("a")).toBe(1);
  expect((await pulseRow(world.sql, "c")).everyS).toBe(60);
});

test("edits of different pulses do not wait for each other, and edits of the same pulse wait only for its row", async () => {
  await world.put("a", pulse);
  await world.put("b", pulse);
  await Promise.all(Array.from({ length: 8 }, (_, n) => changed(n % 2 === 0 ? "a" : "b", n)));
  expect([
    (await readSchedule(world.sql, "a"))?.version,
    (await readSchedule(world.sql, "b"))?.version,
  ]).toEqual([5, 5]);
});

test.each<[string, () => Promise<unknown>]>([
  ["a schedule with jobs", () => world.put("a", { when: "every 10s", target: { queue: "demo" } })],
  [
    "a pulse that was another schedule before",
    async () => {
      await world.put("a", { when: "every 10s", target: { queue: "demo" } });
      await world.put("a", pulse);
    },
  ],
  [
    "a pulse that was another schedule in between",
    async () => {
      await world.put("a", pulse);
      await world.put("a", { when: "every 10s", target: { queue: "demo" } });
      await world.put("a", pulse);
    },
  ],
  [
    "a pulse that was fired by hand",
    async () => {
      await world.put("a", pulse);
      await fireNow(deps(), { key: "a", caller });
    },
  ],
])("an edit of %s waits at the gate", async (_, make) => {
  await make();
  await expectToWait(() => changed("a", 2));
  expect(await payloadOf("a")).toBe(2);
});

test("two edits of one pulse in one batch wait at the gate: after the first it may no longer be a pulse", async () => {
  await world.put("a", pulse);
  await expectToWait(() => applyOperations(deps(), [patch("a", 1), patch("a", 2)]));
  expect(await payloadOf("a")).toBe(2);
});

test("an edit whose pulse is fired while it waits for the row passes the gate after all", async () => {
  await world.put("a", pulse);
  const { id } = await pulseRow(world.sql, "a");
  let edited: Promise<unknown> = Promise.resolve();
  await whileGatesAreClosed(async () => {
    await world.sql.begin(async (tx) => {
      await tx`select from carillon.schedules where id = ${id} for no key update`;
      edited = changed("a", 3);
      await until("the edit waits for the row", async () => (await waitingLocks(world.sql)) > 0);
      expect(await waitingLocks(world.sql, gate)).toBe(0);
      await tx`select carillon.note_jobs_of_pulse(${id})`;
    });
    await until("the edit waits at the gate", async () => (await waitingLocks(world.sql, gate)) > 0);
  });
  await edited;
  expect(await payloadOf("a")).toBe(3);
});

test("a hold of a group waits for pulses under edit, and finds them as they are afterwards", async () => {
  for (const key of ["a", "b"]) await world.put(key, { ...pulse, group: "g" });
  let paused: Promise<unknown> = Promise.resolve();
  await world.sql.begin(async (tx) => {
    await applyWaves(tx, [patch("a", 1), patch("b", 1)], {
      labels: [],
      teams: new Set(),
      oneByOne: 0,
      labelsMost: 500,
      jobs: 0,
    });
    paused = pauseLabel(deps(), { label: { scope: "group", name: "g" }, caller }, unbounded);
    await until("the walk waits for a row", async () => (await waitingLocks(world.sql)) > 0);
  });
  await paused;
  for (const key of ["a", "b"]) {
    expect(await payloadOf(key)).toBe(1);
    expect((await pulseRow(world.sql, key)).startsS).toBeNull();
  }
});

test("edits of one pulse at the same moment are applied one after the other, without a conflict", async () => {
  await world.put("a", pulse);
  await Promise.all(Array.from({ length: 40 }, (_, n) => changed("a", { n })));
  expect((await readSchedule(world.sql, "a"))?.version).toBe(41);
});
