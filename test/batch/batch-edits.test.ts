import { afterEach, beforeEach, expect, test } from "vitest";
import { applyOperations } from "../../lib/batch/apply-operations.ts";
import type { Operation } from "../../lib/batch/operation.ts";
import { readCalendarRules } from "../../lib/cadence/calendar-rules.ts";
import { putCalendar } from "../../lib/rules/calendar-edits.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { failed } from "../../lib/target/delivery.ts";
import { again, handler, type RecheckWorld, recheckWorld } from "../history/recheck-world.ts";
import { at, hour, minute, second } from "../support/instants.ts";

/**
 * A batch edits many schedules in a few statements. The result for each has to be that of a single
 * edit.
 */

let world: RecheckWorld;

beforeEach(async () => {
  world = await recheckWorld();
});

afterEach(() => world.stop());

const caller = { name: "ann" };
const deps = () => ({ sql: world.as.api, queue: world.queue });
const patchEach = (keys: readonly string[], patch: object) =>
  applyOperations(
    deps(),
    keys.map((key): Operation => ({ kind: "patch", key, patch, caller })),
  );

const delivered = () => world.delivered.map(({ key, occurrence }) => [key, occurrence]);

test("a batch that changes times withdraws the jobs made ahead for the old times", async () => {
  // Otherwise the answer says that the run was moved, and it runs at both times.
  for (const key of ["a", "b"]) await world.put(key, { when: "in 2m" });
  await world.tick();
  await patchEach(["a", "b"], { when: "in 30m" });
  expect(await world.jobs()).toEqual([]);
  await world.workAt(3 * minute);
  await world.workAt(31 * minute);
  const moved = at(30 * minute).toISOString();
  expect(delivered().sort()).toEqual([
    ["a", moved],
    ["b", moved],
  ]);
});

test("a batch that changes times keeps a run that has occurred and still waits for its spread", async () => {
  // Only the version that ends knows when that run is due. If it does not make the job, nothing
  // does.
  const keys = Array.from({ length: 8 }, (_, n) => `kept-${n}`);
  await world.clock.setNow(at(28 * minute));
  for (const key of keys) await world.put(key, { when: "*/30 * * * *", spread: "25m" });
  for (let passed = 28; passed <= 31; passed++) await world.workAt(passed * minute);
  await patchEach(keys, { when: "0 12 * * *" });
  for (let passed = 35; passed <= 60; passed += 5) await world.workAt(passed * minute);
  const half = at(30 * minute).toISOString();
  expect(delivered().filter(([, occurrence]) => occurrence === half)).toHaveLength(keys.length);
});

test("a batch that makes a spread smaller runs the occurrences that become due by it at once", async () => {
  // The ticks lag, so the new due time lies in the past: with `skip` the next tick would skip the
  // run.
  const keys = Array.from({ length: 8 }, (_, n) => `moved-${n}`);
  for (const key of keys)
    await world.put(key, { when: "0 11 * * *", spread: "59m", catchUp: { policy: "skip" } });
  await world.clock.setNow(at("11:01:00"));
  await patchEach(keys, { spread: "1s" });
  await world.work();
  await world.workAt(hour + 30 * minute);
  expect(
    delivered()
      .map(([key]) => key)
      .sort(),
  ).toEqual(keys);
});

test("a batch that removes a calendar removes its coming exclusions from the ledger", async () => {
  // Otherwise the ledger says that runs were excluded, and they have run.
  const read = readCalendarRules({ weekly: ["mon"] });
  if (!read.ok) throw new Error("The calendar rules could not be read.");
  const body = { description: null, rules: read.rules };
  await putCalendar({ sql: world.sql, queue: world.queue }, { name: "c", body, caller });
  for (const key of ["a", "b"]) await world.put(key, { when: "*/5 * * * * *", calendar: { name: "c" } });
  await world.tick();
  await patchEach(["a", "b"], { calendar: null });
  expect(await world.sql`select from carillon.passed_over`).toEqual([]);
  await world.workAt(10 * second);
  expect(delivered()).toHaveLength(4);
});

test("a batch that is all or nothing edits more than a hundred schedules whose calendar skips days", async () => {
  // A hundred is the most that it edits one by one.
  const read = readCalendarRules({ weekly: ["mon"] });
  if (!read.ok) throw new Error("The calendar rules could not be read.");
  await putCalendar(deps(), { name: "c", body: { description: null, rules: read.rules }, caller });
  const keys = Array.from({ length: 110 }, (_, n) => `skips-${n}`);
  const body = parseScheduleBody({ when: "0 9 * * *", target: { queue: "demo" }, calendar: { name: "c" } });
  await applyOperations(
    deps(),
    keys.map((key): Operation => ({ kind: "put", key, body, caller })),
  );
  const patches = keys.map((key): Operation => ({ kind: "patch", key, patch: { payload: 1 }, caller }));
  const done = await applyOperations(deps(), patches, { allOrNothing: true });
  expect(done.every(({ change }) => change === "changed")).toBe(true);
});

test("a batch resets the count of jobs that died in a row", async () => {
  // Otherwise a schedule that the batch repaired is held at its next failure.
  const fails = { when: "every 1m", retry: { attempts: 1 }, holdAfter: 2 };
  for (const key of ["a", "b"]) await world.put(key, fails);
  world.outcome = () => failed("no");
  await world.workAt(minute);
  await patchEach(["a", "b"], { timeout: "20s" });
  await world.workAt(2 * minute);
  expect(await world.sql`select from carillon.wanted_holds`).toEqual([]);
  await world.workAt(3 * minute);
  expect(await world.sql`select from carillon.wanted_holds`).toHaveLength(2);
});

test.each([
  ["edits", "superseded", { kind: "patch", key: "order", patch: { payload: 2 }, caller } as const],
  ["deletes", "deleted", { kind: "delete", key: "order", caller } as const],
])("a batch that %s a schedule cancels its waiting recheck", async (_what, reason, operation) => {
  // Otherwise the recheck of the old spec runs after the edit was acknowledged.
  world.answers.set("order", [again(hour)]);
  await world.put("order", { when: "in 1m", ...handler });
  await world.workAt(minute);
  await world.put("beside", { when: "every 1h" });
  await applyOperations(deps(), [operation, ...[{ kind: "delete", key: "beside", caller } as const]]);
  const checks = await world.sql`select state, reason from carillon.jobs where kind = 'again'`;
  expect(checks).toEqual([{ state: "cancelled", reason }]);
  await world.workAt(hour);
  expect(delivered().filter(([, occurrence]) => occurrence === at(hour).toISOString())).toEqual([]);
});
