import { afterEach, beforeEach, expect, test } from "vitest";
import { applyOperations } from "../../lib/batch/apply-operations.ts";
import type { Operation } from "../../lib/batch/operation.ts";
import { connect, type Tx } from "../../lib/db/connect.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, day, hour, minute, second } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";
import { until } from "../support/until.ts";
import { waitingLocks } from "../support/waiting-locks.ts";
import { beatWorld } from "./beat-world.ts";
import { caller, pulse } from "./pulse-rows.ts";

/** A target of pulses has one row for all of its pulses; a row that is no longer used is deleted. */

let world: Carillon;

beforeEach(async () => {
  world = await carillon({ roles: functionRoles });
});

afterEach(() => world.stop());

const put = (key: string, queue: string) => world.put(key, { ...pulse, target: { queue } });
const queues = async (unused = false) =>
  (
    await world.sql<{ queue: string }[]>`
      select target ->> 'queue' as queue from carillon.pulse_targets where ${unused ? world.sql`unused_at is not null` : world.sql`true`}
      order by id`
  ).map(({ queue }) => queue);
const marked = () => queues(true);

/** The queue to which the row of each pulse leads; null if its target is missing. */
const aims = () =>
  world.sql<{ key: string; queue: string | null }[]>`
    select s.key, t.target ->> 'queue' as queue
    from carillon.pulses p join carillon.schedules s on s.id = p.schedule_id left join carillon.pulse_targets t on t.id = p.target_id
    order by s.key`;

/** Runs one round of the deletion. */
async function round(): Promise<void> {
  await world.sql`update carillon.pulse_target_round set look_at = carillon.clock()`;
  await world.tick();
}

/** Leaves the target of this queue unused, with a mark that is old enough for deletion. */
async function markedLongAgo(queue: string): Promise<void> {
  await put("a", queue);
  await put("a", "other");
  await world.sql`
    update carillon.pulse_targets set unused_at = carillon.clock() - interval '25 hours' where target ->> 'queue' = ${queue}`;
}

/** Writes a version with another target, as an edit does. */
async function retarget(tx: Tx, key: string, queue: string): Promise<void> {
  await tx`update carillon.schedules set version = version + 1, spec_version = version + 1 where key = ${key}`;
  await tx`
    insert into carillon.schedule_versions
    select (jsonb_populate_record(v, jsonb_build_object('version', s.version, 'spec_version', s.version, 'target', ${JSON.stringify({ queue })}::text::jsonb))).*
    from carillon.schedules s join carillon.schedule_versions v on v.schedule_id = s.id and v.version = s.version - 1
    where s.key = ${key}`;
}

/** Gives an open transaction to the steps, and commits it after them. */
async function beside(steps: (tx: Tx) => Promise<void>): Promise<void> {
  const other = connect({ DATABASE_URL: world.databaseUrl }, { max: 1 });
  await other.begin(steps);
  await other.end();
}

test("edits and deletes of pulses leave no target behind a day later, and no target of another pulse is deleted", async () => {
  for (const queue of ["a1", "a2", "a3"]) await put("a", queue);
  await put("b", "b1");
  await put("c", "shared");
  await put("d", "shared");
  await world.pause("d");
  await world.remove("b");
  await world.remove("c");
  await round();
  expect(await marked()).toEqual(["a1", "a2", "b1"]);
  await world.clock.advance(23 * hour);
  await round();
  expect(await queues()).toHaveLength(5);
  await world.clock.advance(2 * hour);
  await round();
  expect(await queues()).toEqual(["a3", "shared"]);
  expect(await marked()).toEqual([]);
  expect(await aims()).toEqual([
    { key: "a", queue: "a3" },
    { key: "d", queue: "shared" },
  ]);
  expect(world.log.lines).toContainEqual({
    level: "info",
    event: "tick.pulse-targets-reclaimed",
    fields: { targets: 3 },
  });
});

test("a pulse that returns to a target that is marked as unused takes the mark off, and the target is kept", async () => {
  await markedLongAgo("back");
  await put("b", "back");
  expect(await marked()).toEqual([]);
  await world.clock.advance(10 * day);
  await round();
  expect(await queues()).toEqual(["back", "other"]);
});

test("an edit that has found a target before it was marked as unused keeps the target, however late it commits", async () => {
  await put("a", "old");
  await put("b", "found");
  await put("b", "new");
  await beside(async (tx) => {
    await retarget(tx, "a", "found");
    await round();
    expect(await marked()).toEqual(["found"]);
    await world.clock.advance(23 * hour);
    await round();
    expect(await queues()).toContain("found");
  });
  await world.clock.advance(2 * hour);
  await round();
  expect(await marked()).toEqual(["old"]);
  expect(await aims()).toEqual([
    { key: "a", queue: "found" },
    { key: "b", queue: "new" },
  ]);
});

test("an edit that uses a target whose mark is old enough for deletion keeps the target", async () => {
  await markedLongAgo("back");
  await beside(async (tx) => {
    await retarget(tx, "a", "back");
    await round();
    expect(await queues()).toEqual(["back", "other"]);
  });
  await round();
  expect(await aims()).toEqual([{ key: "a", queue: "back" }]);
});

test("an edit that is rolled back leaves the mark of an unused target unchanged", async () => {
  await markedLongAgo("back");
  const undone = beside(async (tx) => {
    await retarget(tx, "a", "back");
    throw new Error("It is rolled back.");
  });
  await expect(undone).rejects.toThrow("rolled back");
  await round();
  expect(await queues()).toEqual(["other"]);
});

test("an edit whose target is being deleted waits for that, and makes the target again", async () => {
  await markedLongAgo("back");
  const puts: Promise<unknown>[] = [];
  await beside(async (tx) => {
    expect(await tx`select looked, gone from carillon.reclaim_pulse_targets(1000)`).toEqual([
      { looked: 2, gone: 1 },
    ]);
    puts.push(put("a", "back"));
    await until("the put waits", async () => (await waitingLocks(world.sql)) > 0);
  });
  await Promise.all(puts);
  expect(await aims()).toEqual([{ key: "a", queue: "back" }]);
});

test("a batch of pulses makes targets that were deleted, keeps those that are marked, and each has one row", async () => {
  for (const queue of ["gone", "marked", "kept", "other"]) await put("a", queue);
  await put("b", "kept");
  await round();
  await world.sql`delete from carillon.pulse_targets where target ->> 'queue' = 'gone'`;
  const puts = ["gone", "marked", "kept", "gone", "marked"].map((queue, n): Operation => {
    return {
      kind: "put",
      key: `many-${n}`,
      caller,
      body: parseScheduleBody({ ...pulse, target: { queue } }),
    };
  });
  await applyOperations({ sql: world.as.api, queue: world.queue }, puts);
  expect(await queues()).toEqual(["marked", "kept", "other", "gone"]);
  expect(await marked()).toEqual([]);
  expect((await aims()).map(({ queue }) => queue)).toEqual([
    ...["other", "kept"],
    ...["gone", "marked", "kept", "gone", "marked"],
  ]);
});

test("the reclaim reads a bounded number of targets of pulses in a step, continues behind them in the next, and pauses an hour between rounds", async () => {
  for (const queue of ["q1", "q2", "q3"]) await put("a", queue);
  const step = () => world.sql`select looked, gone from carillon.reclaim_pulse_targets(2)`;
  const comes = async () => {
    const [row] =
      await world.sql`select place, look_at - carillon.clock() = '1 hour' as "inAnHour" from carillon.pulse_target_round`;
    return row;
  };
  expect(await step()).toEqual([{ looked: 2, gone: 0 }]);
  expect(await comes()).toEqual({ place: 2, inAnHour: false });
  expect(await step()).toEqual([{ looked: 1, gone: 0 }]);
  expect(await comes()).toEqual({ place: 0, inAnHour: true });
  await put("a", "q4");
  await world.clock.advance(hour - minute);
  await world.tick();
  expect(await marked()).toEqual(["q1", "q2"]);
  await world.clock.advance(minute);
  await world.tick();
  expect(await marked()).toEqual(["q1", "q2", "q3"]);
});

test("a locked target of pulses is not marked as unused, and the others are", async () => {
  for (const queue of ["q1", "q2", "q3"]) await put("a", queue);
  await beside(async (tx) => {
    await tx`select from carillon.pulse_targets where target ->> 'queue' = 'q1' for update`;
    await round();
    expect(await marked()).toEqual(["q2"]);
  });
});

test("a worker that has sent to a target before it was deleted sends to it again once an edit returns to it", async () => {
  const beating = await beatWorld();
  const aim = (queue: string) =>
    beating.put("a", { ...pulse, when: "every 10s", spread: "0s", target: { queue } });
  await aim("x");
  await beating.runSeconds(35);
  await aim("y");
  await beating.sql`update carillon.pulse_targets set unused_at = carillon.clock() - interval '25 hours' where target ->> 'queue' = 'x'`;
  expect(await beating.sql`select gone from carillon.reclaim_pulse_targets(1000)`).toEqual([{ gone: 1 }]);
  await beating.runSeconds(20);
  await aim("x");
  await beating.runSeconds(20);
  expect(beating.sent.map(({ due }) => Date.parse(due))).toEqual(
    [10, 20, 30, 40, 50, 60, 70].map((seconds) => at(seconds * second).getTime()),
  );
  expect(await beating.sql`select from carillon.pulses_passed`).toEqual([]);
  await beating.stop();
});
