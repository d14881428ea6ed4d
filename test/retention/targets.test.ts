import { afterEach, beforeEach, expect, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { clearLimits, setLimits } from "../../lib/limit/limits.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { day, hour, minute } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";
import { until } from "../support/until.ts";
import { waitingLocks } from "../support/waiting-locks.ts";

/** A target has one row for all of its schedules; a row that is no longer used is deleted. */

let world: Carillon;

beforeEach(async () => {
  world = await carillon({ roles: functionRoles });
  await world.sql`update carillon.target_round set look_at = carillon.clock()`;
});

afterEach(() => world.stop());

const webhook = (host: string) => ({ webhook: { url: `https://${host}.example.com/x` } });
const put = (key: string, host: string) => world.put(key, { when: "in 30d", target: webhook(host) });
const names = async () =>
  (await world.sql<{ name: string }[]>`select name from carillon.targets order by id`).map(
    ({ name }) => name,
  );
const marked = async () =>
  (
    await world.sql<
      { name: string }[]
    >`select name from carillon.targets where unused_at is not null order by id`
  ).map(({ name }) => name);
const named = (sql: Sql, name: string) =>
  sql<{ id: number }[]>`select carillon.target_named(${name}) as id`.then(([row]) => row?.id);

/** Runs one round of the deletion. */
async function round(): Promise<void> {
  await world.sql`update carillon.target_round set look_at = carillon.clock()`;
  await world.tick();
}

/** Makes a row whose mark is old enough for deletion. */
async function markedLongAgo(name: string): Promise<void> {
  await named(world.sql, name);
  await world.sql`update carillon.targets set unused_at = carillon.clock() - interval '25 hours' where name = ${name}`;
}

test("webhooks that are put and deleted leave no target behind once their schedules are purged", async () => {
  for (const host of ["a", "b", "c", "d"]) await put(host, host);
  await put("too", "c");
  for (const key of ["a", "b", "c"]) await world.remove(key);
  await round();
  expect(await marked()).toEqual([]);
  await world.clock.advance(10 * day);
  for (let tick = 0; tick < 3; tick++) {
    await world.tick({ retentionDays: 7 });
    await world.clock.advance(hour);
  }
  expect(await world.sql`select key from carillon.schedules order by key`).toEqual([
    { key: "d" },
    { key: "too" },
  ]);
  await round();
  expect(await marked()).toEqual(["webhook/a.example.com", "webhook/b.example.com"]);
  await world.clock.advance(20 * hour);
  await round();
  expect(await names()).toHaveLength(4);
  await world.clock.advance(5 * hour);
  await round();
  expect(await names()).toEqual(["webhook/c.example.com", "webhook/d.example.com"]);
  expect(world.log.lines).toContainEqual({
    level: "info",
    event: "tick.targets-reclaimed",
    fields: { targets: 2 },
  });
});

test.each([
  ["a deleted schedule", () => put("k", "x").then(() => world.remove("k")), ""],
  ["a limit", () => set({ concurrency: 3, rate: null }), ""],
  ["a limit that says there is none", () => set({ concurrency: null, rate: null }), ""],
  [
    "a revision that a caller knows",
    () => set({ concurrency: 3, rate: null }).then(() => clearLimits(limits(), params)),
    "",
  ],
  ["a handler", () => Promise.resolve(), "handler/never"],
  ["a parcel that waits for its time", () => parcel({}), ""],
  ["a parcel that waits for its turn", () => parcel({ turn: "waits", turn_at: new Date() }), ""],
  ["a parcel that has a place", () => parcel({ turn: "granted", slots: 1 }), ""],
])("a target is neither marked as unused nor deleted while it has %s", async (_, keep, other) => {
  const name = other === "" ? "webhook/x.example.com" : other;
  await named(world.sql, name);
  await keep();
  await round();
  expect(await marked()).toEqual([]);
  await world.sql`update carillon.targets set unused_at = carillon.clock() - interval '25 hours'`;
  const [gone] =
    await world.sql`select carillon.reclaim_targets(array(select id from carillon.targets)) as gone`;
  expect(gone).toEqual({ gone: 0 });
  await round();
  expect(await names()).toEqual([name]);
  expect(await marked()).toEqual([]);
});

const limits = () => ({ sql: world.as.api, queue: world.queue });
const params = { target: "webhook/x.example.com", caller: { name: "ann" } };
const set = (wanted: { concurrency: number | null; rate: null }) =>
  setLimits(limits(), { ...params, limits: wanted });
const parcel = (columns: object) =>
  world.sql`
    insert into carillon.parcels ${world.sql({
      shard: 0,
      queue: "slow",
      ready_at: new Date(8.64e15 / 1e3),
      offer_at: new Date(8.64e15 / 1e3),
      target_id: 1,
      occurrences: world.sql.array([]),
      schedule_ids: world.sql.array([]),
      ...columns,
    })}`.then(() => undefined);

test("a put that has read a target before it was marked as unused keeps the target, however late it commits", async () => {
  await named(world.sql, "webhook/x.example.com");
  const putting = connect({ DATABASE_URL: world.databaseUrl }, { max: 1 });
  await putting.begin(async (tx) => {
    const [row] = await tx<{ id: number }[]>`select carillon.target_named('webhook/x.example.com') as id`;
    await world.tick();
    expect(await marked()).toEqual(["webhook/x.example.com"]);
    await world.clock.advance(23 * hour);
    await round();
    expect(await names()).toEqual(["webhook/x.example.com"]);
    await tx`
      insert into carillon.schedules (key, shard, queue, target_kind, target_id, created_at, created_by, updated_at, updated_by)
      values ('late', 0, 'slow', 'webhook', ${row?.id ?? 0}, carillon.clock(), 'ann', carillon.clock(), 'ann')`;
  });
  await putting.end();
  await world.clock.advance(2 * hour);
  await round();
  expect(await names()).toEqual(["webhook/x.example.com"]);
  expect(await marked()).toEqual([]);
});

test("a put that names a target that is marked as unused, and not deleted yet, keeps the target", async () => {
  await markedLongAgo("webhook/x.example.com");
  const putting = connect({ DATABASE_URL: world.databaseUrl }, { max: 1 });
  await putting.begin(async (tx) => {
    await tx`select carillon.target_named('webhook/x.example.com')`;
    await world.tick();
    expect(await names()).toEqual(["webhook/x.example.com"]);
  });
  await putting.end();
  await round();
  expect(await names()).toEqual(["webhook/x.example.com"]);
});

test("a put that is rolled back leaves the mark of an unused target unchanged", async () => {
  await markedLongAgo("webhook/x.example.com");
  const putting = world.sql.begin(async (tx) => {
    await tx`select carillon.target_named('webhook/x.example.com')`;
    throw new Error("It is rolled back.");
  });
  await expect(putting).rejects.toThrow("rolled back");
  await world.tick();
  expect(await names()).toEqual([]);
});

test("a put whose target is being deleted waits for that, and makes the target again", async () => {
  await markedLongAgo("webhook/x.example.com");
  const deleting = connect({ DATABASE_URL: world.databaseUrl }, { max: 1 });
  const puts: Promise<unknown>[] = [];
  await deleting.begin(async (tx) => {
    expect(await tx`select carillon.reclaim_targets(array[1]) as gone`).toEqual([{ gone: 1 }]);
    puts.push(put("again", "x"));
    await until("the put waits", async () => (await waitingLocks(world.sql)) > 0);
  });
  await Promise.all(puts);
  await deleting.end();
  expect(
    await world.sql`
      select s.key, t.id, t.name from carillon.schedules s join carillon.targets t on t.id = s.target_id`,
  ).toEqual([{ key: "again", id: 2, name: "webhook/x.example.com" }]);
});

test("the reclaim reads a bounded number of targets in a step, continues behind them in the next, and pauses an hour between rounds", async () => {
  for (const name of ["queue/a", "queue/b", "queue/c"]) await named(world.sql, name);
  const step = () => world.sql`select looked, ids from carillon.targets_to_reclaim(2)`;
  const comes = async () => {
    const rows =
      await world.sql`select place, look_at - carillon.clock() = '1 hour' as "inAnHour" from carillon.target_round`;
    return rows[0];
  };
  expect(await step()).toEqual([{ looked: 2, ids: [1, 2] }]);
  expect(await comes()).toEqual({ place: 2, inAnHour: false });
  expect(await step()).toEqual([{ looked: 1, ids: [3] }]);
  expect(await comes()).toEqual({ place: 0, inAnHour: true });
  await world.clock.advance(hour - minute);
  await world.tick();
  expect(await marked()).toEqual([]);
  await world.clock.advance(minute);
  await world.tick();
  expect(await marked()).toEqual(["queue/a", "queue/b", "queue/c"]);
});

test("a locked target is not marked as unused, and the others are", async () => {
  for (const name of ["queue/a", "queue/b"]) await named(world.sql, name);
  const other = connect({ DATABASE_URL: world.databaseUrl }, { max: 1 });
  await other.begin(async (tx) => {
    await tx`select from carillon.targets where name = 'queue/a' for update`;
    await world.tick();
    expect(await marked()).toEqual(["queue/b"]);
  });
  await other.end();
});
