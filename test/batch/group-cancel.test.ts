import { afterEach, beforeEach, expect, test } from "vitest";
import { cancelLabel } from "../../lib/batch/cancel-label.ts";
import { connect } from "../../lib/db/connect.ts";
import { readLabel } from "../../lib/history/groups/read-label.ts";
import { openJobsOf } from "../../lib/history/open-jobs.ts";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { handOver } from "../../lib/parcel/hand-over.ts";
import { settleParcel } from "../../lib/parcel/settle.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";
import { until } from "../support/until.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const group = "order:1";
const label = { scope: "group", name: group } as const;
const due = { when: `at ${at(minute).toISOString()}`, group };
const params = { label, caller: { name: "ann" } };
const unbounded = { most: 10_000, timeIsUp: () => false };

const cancel = (more: object = {}, bounds = unbounded) =>
  cancelLabel({ sql: world.sql, queue: world.queue, log: world.log }, { ...params, ...more }, bounds);

async function dueJobs(bodies: Readonly<Record<string, object>>): Promise<void> {
  for (const [key, body] of Object.entries(bodies)) await world.put(key, { ...due, ...body });
  await world.tick();
  world.queue.messages = [];
  await world.clock.setNow(at(minute));
}

async function claim(key: string) {
  const found = (await world.jobs(key)).find(({ state }) => state === "waiting");
  return claimParcel(world.sql, found?.parcelId ?? "0", 10 * minute);
}

const live = async () =>
  (
    await world.sql<
      { key: string }[]
    >`select key from carillon.schedules where deleted_at is null order by key`
  ).map(({ key }) => key);

test("the cancel of a group deletes its schedules, cancels waiting jobs, stops running ones, and changes no other schedule", async () => {
  await dueJobs({
    running: {},
    waiting: {},
    retrying: {},
    queued: { serial: true },
    behind: { serial: true },
  });
  await dueJobs({ other: { group: "order:2" }, none: { group: null } });
  const running = await claim("running");
  const retrying = await claim("retrying");
  if (running.outcome !== "claimed" || retrying.outcome !== "claimed")
    throw new Error("Nothing was claimed.");
  await settleParcel(world.sql, retrying, [{ kind: "retry", afterMs: minute, error: "no" }]);
  await claim("queued");
  await claim("behind");
  const [asked] = await world.sql<
    { count: number }[]
  >`select count(*)::int from carillon.parcels where lease_until is not null`;
  expect(await cancel({ reason: "refunded" })).toEqual({ done: 5, running: asked?.count, failed: 0 });
  expect(await live()).toEqual(["none", "other"]);
  expect(await world.jobs("behind")).toMatchObject([{ state: "cancelled", reason: "deleted" }]);
  const stopped = await world.sql`
    select s.key from carillon.jobs j join carillon.schedules s on s.id = j.schedule_id where j.cancel_asked order by 1`;
  expect(stopped).toEqual([{ key: "queued" }, { key: "running" }]);
  await settleParcel(world.sql, running, [{ kind: "cancelled" }]);
  expect(await world.jobs("running")).toMatchObject([{ state: "cancelled", reason: "requested" }]);
  await world.clock.advance(2 * minute);
  await world.tick();
  await world.work();
  expect(world.delivered.map(({ key }) => key).sort()).toEqual(["none", "other"]);
  expect(await world.jobs("retrying")).toMatchObject([{ state: "cancelled", reason: "deleted" }]);
  const audit = await world.sql`
    select actor, action, subject, detail from carillon.audit where action in ('group.cancelled', 'schedule.deleted') order by action, subject limit 2`;
  expect(audit).toEqual([
    { actor: "ann", action: "group.cancelled", subject: group, detail: { reason: "refunded" } },
    { actor: "ann", action: "schedule.deleted", subject: "behind", detail: { group, reason: "refunded" } },
  ]);
});

test("the cancel of a group stops at its limits and continues from there, and a repeated cancel changes nothing", async () => {
  const keys = Array.from({ length: 60 }, (_, n) => `k${n}`);
  await Promise.all(keys.map((key) => world.put(key, due)));
  const first = await cancel({}, { ...unbounded, most: 20 });
  expect(first).toMatchObject({ done: 20, next: expect.any(String) });
  let checks = 0;
  const second = await cancel({ after: first.next }, { most: 10_000, timeIsUp: () => ++checks > 3 });
  expect(second.done).toBeGreaterThan(0);
  expect(second.done).toBeLessThan(40);
  const third = await cancel({ after: second.next });
  expect(first.done + second.done + third.done).toBe(60);
  expect(await cancel()).toEqual({ done: 0, running: 0, failed: 0 });
  expect(await live()).toEqual([]);
});

test("two concurrent cancels of a group delete each schedule once", async () => {
  const keys = Array.from({ length: 40 }, (_, n) => `k${n}`);
  await Promise.all(keys.map((key, n) => world.put(key, { ...due, serial: n % 2 === 0 })));
  const [one, other] = await Promise.all([cancel(), cancel()]);
  expect(one.done + other.done).toBe(40);
});

test("the cancel of a tag cancels its schedules in the same way", async () => {
  await dueJobs({ tagged: { tags: ["flash", "sale"] }, untagged: { tags: ["sale"] } });
  expect(await cancel({ label: { scope: "tag", name: "flash" } })).toEqual({
    done: 1,
    running: 0,
    failed: 0,
  });
  expect(await live()).toEqual(["untagged"]);
});

test("the open jobs of a group show what they wait for, in the order in which they are due", async () => {
  await world.put("later", { ...due, when: `at ${at(2 * minute).toISOString()}` });
  await dueJobs({ held: {}, plain: {}, running: { serial: true }, behind: { serial: true } });
  await world.put("over", { ...due, when: "every 10s", overlap: "queue" });
  await world.tick();
  await world.clock.advance(20 * second);
  world.queue.messages = [];
  await world.pause("held");
  await claim("held");
  await claim("running");
  await claim("behind");
  await claim("over");
  const overs = (await world.jobs("over")).filter(({ state }) => state === "waiting");
  await claimParcel(world.sql, overs[1]?.parcelId ?? "0", 10 * minute);
  const read = await readLabel(world.sql, label, { limit: 100 });
  const first = read?.jobs.items.filter(({ dueAt }) => dueAt <= at(minute + 30 * second));
  const shown = first?.map(({ key, state, waitsFor }) => [key, state, waitsFor]);
  expect(shown).toEqual([
    ["held", "waiting", "hold"],
    ["plain", "waiting", "worker"],
    ["running", "running", null],
    ["behind", "waiting", "group"],
    ["over", "running", null],
    ["over", "waiting", "overlap"],
    ["over", "waiting", "time"],
  ]);
  expect(read?.jobs.items.find(({ key }) => key === "later")).toMatchObject({ waitsFor: "time" });
});

test("a hundred open jobs are shown at most, with a sign that there are more", async () => {
  await world.put("many", { ...due, when: "every 1s" });
  await world.tick();
  const [schedule] = await world.sql<{ id: string }[]>`select id from carillon.schedules`;
  const { items, more } = await openJobsOf(world.sql, [schedule?.id ?? "0"]);
  expect([items.length, more]).toEqual([100, true]);
  expect(items.map(({ dueAt }) => dueAt.getTime())).toEqual(
    items.map((_, n) => at((n + 1) * second).getTime()),
  );
  expect(await openJobsOf(world.sql, [])).toEqual({ items: [], more: false });
});

test("the rights of the API suffice to cancel and read a group", async () => {
  await world.stop();
  world = await carillon({ roles: functionRoles });
  await dueJobs({ a: { serial: true, overlap: "queue" }, b: { serial: true } });
  await claim("a");
  await claim("b");
  const { api } = await functionRoles(world.sql, world.databaseUrl);
  expect((await readLabel(api, label, { limit: 10 }))?.jobs.items).toHaveLength(2);
  const done = await cancelLabel({ sql: api, queue: world.queue, log: world.log }, params, unbounded);
  expect(done).toEqual({ done: 2, running: 1, failed: 0 });
  await handOver(api, world.queue, []);
  await api.end();
});

test("the cancel of a group locks lanes in their order, independent of the order of its schedules", async () => {
  const keys = Array.from({ length: 20 }, (_, n) => `s-${n}`);
  await dueJobs(Object.fromEntries(keys.map((key) => [key, { overlap: "queue", group: null }])));
  await world.sql`update carillon.schedules set shard = 3`;
  const [pair] = await world.sql<{ first: string; second: string }[]>`
    select a.id as first, b.id as second from carillon.schedules a join carillon.schedules b on a.id < b.id
    where hashtext(carillon.lane_of(a.id)) & 15 > hashtext(carillon.lane_of(b.id)) & 15 order by 1, 2 limit 1`;
  if (pair === undefined) throw new Error("All lanes are in the order of their schedules.");
  const ids = [pair.first, pair.second];
  await world.sql`update carillon.schedules set group_key = ${group} where id = any(${ids}::bigint[])`;
  await world.sql`
    update carillon.schedule_versions set body = body || jsonb_build_object('group', ${group}::text) where schedule_id = any(${ids}::bigint[])`;
  // Blocks the second edit.
  await world.sql`insert into carillon.failure_runs (schedule_id, failures) values (${pair.second}, 1)`;
  const own = connect({ DATABASE_URL: world.databaseUrl }, { max: 4 });
  const waiting = (count: number) =>
    until(`${count} wait`, async () => {
      const [row] = await own<{ count: number }[]>`
        select count(*)::int from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      return row?.count === count;
    });
  const both = await world.sql.begin(async (tx) => {
    await tx`select from carillon.failure_runs for update`;
    const cancelled = cancelLabel({ sql: own, queue: world.queue, log: world.log }, params, unbounded);
    await waiting(1);
    // As the sweep does.
    const locked = own`select carillon.lock_lanes(${ids}::bigint[])`.execute();
    await waiting(2);
    return [cancelled, locked] as const;
  });
  const [cancelled] = await Promise.all(both);
  expect(cancelled.done).toBe(2);
  await own.end();
});
