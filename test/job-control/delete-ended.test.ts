import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { connect } from "../../lib/db/connect.ts";
import { gate } from "../../lib/db/locks.ts";
import { cancelJob } from "../../lib/edit/cancel-jobs.ts";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import { jobId } from "../../lib/job/job-id.ts";
import { deleteEnded } from "../../lib/job-control/delete-ended.ts";
import { fireOnce } from "../../lib/job-control/fire-now.ts";
import { failed } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";
import { touched } from "../support/touched.ts";
import { until } from "../support/until.ts";
import { waitingLocks } from "../support/waiting-locks.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon({ roles: functionRoles });
});

afterEach(() => world.stop());

/** No time limit, and no failure is allowed. */
const whole = {
  timeIsUp: () => false,
  note: (error: unknown) => {
    throw error;
  },
};

const exists = async (key: string) => (await readSchedule(world.sql, key)) !== null;

/** Runs ticks and workers minute by minute. */
async function minutes(count: number): Promise<void> {
  for (let each = 0; each < count; each++) {
    await world.tick();
    await world.work();
    await world.clock.advance(minute);
    await world.work();
  }
  await world.tick();
}

describe("a schedule with deleteOnEnd", () => {
  test("a schedule with deleteOnEnd is deleted after its only run, and its key is free", async () => {
    await world.put("welcome:ann", { when: "in 90s", deleteOnEnd: true });
    await world.put("stays", { when: "in 90s" });
    await minutes(1);
    expect(await exists("welcome:ann")).toBe(true);
    await minutes(3);
    expect(await exists("welcome:ann")).toBe(false);
    expect(await readSchedule(world.sql, "stays")).toMatchObject({ state: "ended" });
    expect(await world.jobs("welcome:ann")).toMatchObject([{ state: "succeeded" }]);
    expect(
      await world.sql`select actor, detail from carillon.audit where action = 'schedule.deleted'`,
    ).toEqual([{ actor: "carillon", detail: { reason: "ended" } }]);
    expect((await world.put("welcome:ann", { when: "in 90s", deleteOnEnd: true })).change).toBe("created");
  });

  test("a schedule with deleteOnEnd stays while its job waits, runs or is to be retried, and is deleted afterwards", async () => {
    world.outcome = ({ attempt }) => (attempt < 2 ? failed("no") : { kind: "done" });
    await world.put("tries", { when: "in 30s", deleteOnEnd: true, retry: { backoff: "fixed", base: "5m" } });
    await minutes(7);
    expect(await world.jobs("tries")).toMatchObject([{ state: "waiting", attempt: 2 }]);
    expect(await exists("tries")).toBe(true);
    await minutes(9);
    expect(await world.jobs("tries")).toMatchObject([{ state: "succeeded" }]);
    expect(await exists("tries")).toBe(false);
  });

  test("a schedule with deleteOnEnd stays while an older job is to be retried, also one of a cadence before an edit", async () => {
    const later = { deleteOnEnd: true, retry: { backoff: "fixed", base: "20m" } };
    world.outcome = ({ attempt, occurrence }) =>
      attempt === 0 && occurrence <= at(10 * second) ? failed("no") : { kind: "done" };
    await world.put("many", { ...later, when: "every 10s", maxFires: 50 });
    await world.put("edited", { ...later, when: "in 10s" });
    await minutes(2);
    await world.patch("edited", { when: "in 30s" });
    await minutes(15);
    for (const key of ["many", "edited"]) expect(await exists(key)).toBe(true);
    await minutes(10);
    for (const key of ["many", "edited"]) expect(await exists(key)).toBe(false);
    expect(await world.sql`select distinct state::text from carillon.jobs`).toEqual([{ state: "succeeded" }]);
  });

  test("a schedule with deleteOnEnd stays if its last job is dead, for inspection", async () => {
    world.outcome = () => failed("never", true);
    await world.put("dies", { when: "in 30s", deleteOnEnd: true });
    await minutes(10);
    expect(await exists("dies")).toBe(true);
  });

  test("a schedule with deleteOnEnd stays while a recheck waits", async () => {
    const later = at(20 * minute);
    world.outcome = ({ kind }) => (kind === "again" ? { kind: "done" } : { kind: "again", at: later });
    await world.put("checks", { when: "in 30s", deleteOnEnd: true, target: { handler: "greet" } });
    await minutes(15);
    expect(await readSchedule(world.sql, "checks")).toMatchObject({ state: "active", nextAt: later });
    await minutes(10);
    expect(await exists("checks")).toBe(false);
  });

  test("a schedule with deleteOnEnd and several runs is deleted after the last, and is checked at most once for each run", async () => {
    await world.put("thrice", { when: "every 10m", maxFires: 3, deleteOnEnd: true });
    await minutes(9);
    const [look] = await world.sql`select end_look_at from carillon.schedules where key = 'thrice'`;
    expect(look).toEqual({ end_look_at: at(10 * minute) });
    await minutes(20);
    expect(await exists("thrice")).toBe(true);
    await minutes(5);
    expect(await exists("thrice")).toBe(false);
    expect(await world.jobs("thrice")).toHaveLength(3);
  });

  test("a schedule with deleteOnEnd is deleted after a missed run, and stays while it is held", async () => {
    await world.put("missed", { when: "in 30s", deleteOnEnd: true, catchUp: { policy: "skip" } });
    await world.put("held", { when: "in 30s", deleteOnEnd: true });
    await world.pause("held");
    await world.clock.advance(20 * minute);
    await minutes(3);
    expect(await exists("missed")).toBe(false);
    expect(await exists("held")).toBe(true);
    await world.resume("held");
    await minutes(3);
    expect(await exists("held")).toBe(false);
  });

  test("a schedule with deleteOnEnd stays while a manual job waits, also one that is fired during the check", async () => {
    await world.put("again", { when: "in 30s", deleteOnEnd: true });
    await world.tick();
    await world.clock.advance(minute);
    await world.work();
    const looked: Promise<number>[] = [];
    await world.sql.begin(async (tx) => {
      const running = fireOnce(tx, { key: "again", caller: { name: "ann" } });
      await running;
      looked.push(deleteEnded(world, whole));
      await until("it waits for the schedule", async () => (await waitingLocks(world.sql)) === 1);
    });
    expect(await Promise.all(looked)).toEqual([0]);
    expect(await world.jobs("again")).toMatchObject([{ state: "succeeded" }, { state: "waiting" }]);
    await minutes(3);
    expect(await exists("again")).toBe(false);
    expect(await world.jobs("again")).toMatchObject([{ state: "succeeded" }, { state: "succeeded" }]);
  });

  test("a schedule with deleteOnEnd stays if an edit has removed the setting since it was listed", async () => {
    for (const key of ["a", "b"]) await world.put(key, { when: "in 30s", deleteOnEnd: true });
    await world.sql`update carillon.schedules set shard = 3`;
    await world.sql`update carillon.plan set shard = 3`;
    await world.tick();
    await world.clock.advance(minute);
    await world.work();
    const looked: Promise<number>[] = [];
    await world.sql.begin(async (tx) => {
      await tx`select pg_advisory_xact_lock(${gate}::int, 3)`;
      looked.push(deleteEnded(world, whole));
      await until("it waits for the gate", async () => (await waitingLocks(world.sql, gate)) === 1);
      const [{ id = "0" } = {}] = await tx<{ id: string }[]>`
        update carillon.schedules set end_look_at = null, version = 2, spec_version = 2 where key = 'a' returning id`;
      await tx`
        insert into carillon.schedule_versions (schedule_id, version, change, changed_at, changed_by, spec_version, held, once_at, body, target, payload)
        select ${id}, 2, change, changed_at, changed_by, 2, false, once_at, body - 'deleteOnEnd', target, payload
        from carillon.schedule_versions where schedule_id = ${id} and version = 1`;
    });
    expect(await Promise.all(looked)).toEqual([1]);
    expect(await exists("a")).toBe(true);
    expect(await world.sql`select from carillon.schedules where end_look_at is not null`).toEqual([]);
  });

  test("a schedule with deleteOnEnd whose job is cancelled early stays until the job's due time", async () => {
    await world.put("early", { when: "in 90s", deleteOnEnd: true });
    await world.tick();
    const { scheduleId = "0" } =
      (await world.sql`select id as "scheduleId" from carillon.schedules`)[0] ?? {};
    const id = jobId({ scheduleId, occurrence: at(90 * second), kind: "cadence", n: 0 });
    await cancelJob({ sql: world.sql, queue: world.queue }, { id, caller: { name: "ann" } });
    expect(await deleteEnded(world, whole)).toBe(0);
    await minutes(3);
    expect(await exists("early")).toBe(false);
  });

  test("schedules with deleteOnEnd are read by index lookups, however many there are", async () => {
    for (let each = 0; each < 30; each++)
      await world.put(`one:${each}`, { when: "in 30s", deleteOnEnd: true });
    await world.put("edited", { when: "in 40s", deleteOnEnd: true });
    await world.patch("edited", { when: "in 30s" });
    await world.sql`update carillon.schedules set shard = 3`;
    await world.sql`update carillon.plan set shard = 3`;
    await world.tick();
    await world.clock.advance(minute);
    await world.work();
    await world.sql`
      insert into carillon.schedules (key, shard, queue, target_kind, target_id, created_at, created_by, updated_at, updated_by)
      select 'more-' || i, f.shard, f.queue, f.target_kind, f.target_id, f.created_at, f.created_by, f.updated_at, f.updated_by
      from (select * from carillon.schedules order by id limit 1) f, generate_series(1, 10000) i`;
    const own = connect({ DATABASE_URL: world.databaseUrl }, { max: 1 });
    const { index, scanned } = await touched(own, () =>
      deleteEnded({ sql: own, log: world.log, queue: world.queue }, whole),
    );
    await own.end();
    expect(await world.sql`select from carillon.schedules where end_look_at is not null`).toEqual([]);
    // At most ten entries per schedule: the index keeps old versions of a row while any transaction
    // of the server is older. A scan of the table reads 10,031.
    expect(index["schedules_pkey"]).toBeLessThanOrEqual(31 * 10);
    expect(Object.keys(index).filter((name) => name.startsWith("jobs_2"))).not.toEqual([]);
    for (const [name, read] of Object.entries(index))
      if (name.startsWith("jobs_"))
        expect(read).toBeLessThanOrEqual(name.startsWith("jobs_beside") ? 0 : 31 * 3);
    expect(scanned["schedules"] ?? 0).toBe(0);
  });

  test("a schedule stays if an edit removes deleteOnEnd, and is deleted if an edit sets it", async () => {
    await world.put("keeps", { when: "in 30s", deleteOnEnd: true });
    await world.put("loses", { when: "in 30s" });
    await world.patch("keeps", { deleteOnEnd: false });
    await minutes(3);
    await world.patch("loses", { deleteOnEnd: true });
    await minutes(1);
    expect(await exists("keeps")).toBe(true);
    expect(await exists("loses")).toBe(false);
  });

  test("many schedules with deleteOnEnd are deleted in one tick", async () => {
    for (let each = 0; each < 120; each++)
      await world.put(`one:${each}`, { when: "in 30s", deleteOnEnd: true });
    await world.sql`update carillon.schedules set shard = 3`;
    await world.sql`update carillon.plan set shard = 3`;
    await world.sql`update carillon.parcels set shard = 3`;
    await minutes(3);
    await world.clock.advance(5 * second);
    await world.tick();
    expect(await world.sql`select from carillon.schedules where deleted_at is null`).toEqual([]);
  });
});
