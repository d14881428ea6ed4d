import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { jobId } from "../../lib/job/job-id.ts";
import { readJob } from "../../lib/job/read-job.ts";
import { backfillSchedule } from "../../lib/job-control/backfill.ts";
import { fireNow } from "../../lib/job-control/fire-now.ts";
import { type Claimed, type ClaimedParcel, claimParcel } from "../../lib/parcel/claim.ts";
import { handOver } from "../../lib/parcel/hand-over.ts";
import { type Settlement, settleParcel } from "../../lib/parcel/settle.ts";
import { sweep } from "../../lib/parcel/sweep.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";
import { watchedWorker } from "../support/watched-worker.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const lease = 30 * second;
const when = (ms: number) => `at ${at(ms).toISOString()}`;
const serial = { group: "order:1", serial: true };

/**
 * Makes a job for each key, due a second after the one before. Afterwards all are due. Their
 * schedules are in several shards.
 */
async function dueInTurn(keys: readonly string[], body: object = serial): Promise<void> {
  for (const [index, key] of keys.entries()) {
    await world.put(key, { when: when(minute + index * second), ...body });
  }
  await world.tick();
  world.queue.messages = [];
  await world.clock.setNow(at(minute + keys.length * second));
}

async function parcelOf(key: string): Promise<string> {
  const found = (await world.jobs(key)).find(({ state }) => state === "waiting");
  return found?.parcelId ?? "0";
}

async function claim(key: string, leaseMs = lease): Promise<Claimed> {
  return claimParcel(world.sql, await parcelOf(key), leaseMs);
}

async function claimed(key: string, leaseMs = lease): Promise<ClaimedParcel> {
  const parcel = await claim(key, leaseMs);
  if (parcel.outcome !== "claimed") throw new Error(`The parcel of ${key} is ${parcel.outcome}.`);
  return parcel;
}

const settle = (parcel: ClaimedParcel, settlement: Settlement = { kind: "succeeded" }) =>
  settleParcel(
    world.sql,
    parcel,
    parcel.jobs.map(() => settlement),
  );

const failed = { kind: "retry", afterMs: second, error: "no" } as const;
const ids = (parcels: readonly { id: string }[]) => parcels.map(({ id }) => id);
const order = () => world.delivered.map(({ key }) => key);
const shards = () => world.sql`select distinct shard from carillon.schedules`;

describe("serial schedules of a group", () => {
  test("jobs of a serial group are delivered one at a time in due order, over shards and targets, in any order of their messages", async () => {
    await world.put("c", { when: when(minute + 2 * second), ...serial, target: { handler: "greet" } });
    for (const [index, key] of ["a", "b", "", "d"].entries())
      if (key !== "") await world.put(key, { when: when(minute + index * second), ...serial });
    await dueInTurn([]);
    await world.clock.setNow(at(minute + 4 * second));
    expect((await shards()).length).toBeGreaterThan(1);
    for (const key of ["d", "b", "c"]) {
      expect(await claim(key)).toMatchObject({ outcome: "empty", freed: [] });
      expect(await claim(key)).toMatchObject({ outcome: "held" });
    }
    for (const [key, next] of [
      ["a", "b"],
      ["b", "c"],
      ["c", "d"],
    ] as const) {
      expect(ids((await settle(await claimed(key))).outgoing)).toEqual([await parcelOf(next)]);
    }
    expect((await settle(await claimed("d"))).outgoing).toEqual([]);
    expect(await world.sql`select from carillon.lane_entries`).toEqual([]);
  });

  test("jobs of a serial group in one parcel are delivered one at a time too", async () => {
    await dueInTurn(["a", "b", "c"]);
    await world.sql`update carillon.schedules set shard = 0`;
    await world.sql`delete from carillon.parcels where id <> ${await parcelOf("a")}`;
    await world.sql`
      update carillon.parcels p set shard = 0, occurrences = j.occurrences, schedule_ids = j.schedule_ids
      from (select array_agg(occurrence order by occurrence desc) as occurrences,
        array_agg(schedule_id order by occurrence desc) as schedule_ids from carillon.jobs) j`;
    await world.sql`update carillon.jobs set parcel_id = (select id from carillon.parcels)`;
    await handOver(world.sql, world.queue, [{ id: await parcelOf("a"), queue: "fast", waitMs: 0 }]);
    await world.work();
    expect(order()).toEqual(["a", "b", "c"]);
  });

  test("a job waits from its creation on for an earlier one whose message comes late", async () => {
    await dueInTurn(["a", "b"]);
    expect(await claim("b")).toMatchObject({ outcome: "empty" });
    await world.clock.advance(10 * minute);
    expect(await claim("b")).toMatchObject({ outcome: "held" });
    expect(ids((await settle(await claimed("a"))).outgoing)).toEqual([await parcelOf("b")]);
  });

  test("a hundred jobs of a group are done with one tick before and none in between, by a bounded number of statements each", async () => {
    const keys = Array.from({ length: 100 }, (_, n) => `k${String(n).padStart(3, "0")}`);
    await Promise.all(keys.map((key, n) => world.put(key, { when: when(minute + n * 10), ...serial })));
    await world.tick();
    await world.clock.setNow(at(2 * minute));
    world.queue.messages.reverse();
    const worker = watchedWorker(world, 1);
    await world.work();
    await worker.sql.end();
    expect(order()).toEqual(keys);
    // A claim that finds the lane taken, one when the turn has come, and a settle.
    expect(worker.asked.length).toBeLessThanOrEqual(keys.length * 3);
  });

  test("a serial group delays neither other groups nor schedules that are not serial", async () => {
    await dueInTurn(["a", "b"]);
    await dueInTurn(["other"], { group: "order:2", serial: true });
    await dueInTurn(["free"], { group: "order:1" });
    await claimed("a");
    expect((await claimed("other")).jobs).toHaveLength(1);
    expect((await claimed("free")).jobs).toHaveLength(1);
    expect(await claim("b")).toMatchObject({ outcome: "empty" });
  });

  test("a job keeps its turn while it is retried; a dead or cancelled one hands it over", async () => {
    await dueInTurn(["a", "b", "c", "d"]);
    for (const key of ["b", "c", "d"]) await claim(key);
    expect((await settle(await claimed("a"), failed)).outgoing).toMatchObject([{ waitMs: second }]);
    expect(await claim("b")).toMatchObject({ outcome: "held" });
    await world.clock.advance(second);
    const dead = await settle(await claimed("a"), { kind: "dead", error: "no" });
    expect(ids(dead.outgoing)).toEqual([await parcelOf("b")]);
    const cancelled = await settle(await claimed("b"), { kind: "cancelled" });
    expect(ids(cancelled.outgoing)).toEqual([await parcelOf("c")]);
    const back = await settle(await claimed("c"), { kind: "back" });
    expect(ids(back.outgoing)).toEqual([await parcelOf("c")]);
    await settle(await claimed("c"));
    expect((await claimed("d")).jobs).toHaveLength(1);
  });

  test("jobs of every kind wait in a serial group: fired by hand, backfilled, due", async () => {
    const deps = { sql: world.sql, queue: world.queue };
    const caller = { name: "ann" };
    await world.put("every", {
      when: "every 10s",
      startsAt: at(minute + 10 * second).toISOString(),
      deadline: "5s",
      ...serial,
    });
    await dueInTurn(["a", "b"]);
    const running = await claimed("a", 10 * minute);
    await fireNow(deps, { key: "b", caller });
    await world.clock.advance(2 * minute);
    await world.tick();
    await world.work();
    await backfillSchedule(deps, {
      key: "every",
      from: at(minute),
      to: at(minute + 40 * second),
      limit: 10,
      caller,
    });
    await world.tick();
    await world.work();
    expect(order()).toEqual([]);
    await handOver(world.sql, world.queue, (await settle(running)).outgoing);
    for (let passed = 0; passed < 3; passed++) {
      await world.work();
      await world.clock.advance(minute);
      await world.tick();
    }
    await world.work();
    const kinds = await world.sql<{ key: string; kind: string }[]>`
      select s.key, j.kind from carillon.jobs j join carillon.schedules s on s.id = j.schedule_id
      where j.state = 'succeeded' order by j.due_at, j.occurrence`;
    const both = kinds.map(({ key, kind }) => `${key} ${kind}`);
    expect(both).toEqual(expect.arrayContaining(["b manual", "every backfill", "b cadence"]));
    expect(order()).toEqual(kinds.slice(1).map(({ key }) => key));
    expect(
      await world.sql`select from carillon.jobs where state = 'waiting' and due_at <= carillon.clock()`,
    ).toEqual([]);
  });

  test("a serial group and an overlap rule both apply: an occurrence is skipped while the one before waits for the group", async () => {
    await dueInTurn(["a"]);
    await world.put("s", { when: "every 10s", overlap: "skip", ...serial });
    await world.tick();
    await world.clock.advance(20 * second);
    const running = await claimed("a");
    world.queue.messages = world.queue.messages.filter(({ body }) => body !== running.id);
    await world.work();
    expect((await world.jobs("s")).slice(0, 2)).toMatchObject([
      { state: "waiting" },
      { state: "skipped", reason: "overlap" },
    ]);
    await handOver(world.sql, world.queue, (await settle(running)).outgoing);
    await world.work();
    expect((await world.jobs("s")).slice(0, 2)).toMatchObject([{ state: "succeeded" }, { state: "skipped" }]);
  });

  test("a job that waits for its group is shown without a time at which it is ready", async () => {
    await dueInTurn(["a", "b"]);
    await claim("b");
    const [stored] = await world.sql<{ scheduleId: string; occurrence: Date }[]>`
      select j.schedule_id as "scheduleId", j.occurrence from carillon.jobs j join carillon.schedules s on s.id = j.schedule_id where s.key = 'b'`;
    if (stored === undefined) throw new Error("There is no job.");
    const job = await readJob(world.sql, jobId({ ...stored, kind: "cadence", n: 0 }));
    expect(job).toMatchObject({ state: "waiting", readyAt: null });
  });

  test("jobs that became late while they waited for the group are skipped, and the group goes on", async () => {
    await dueInTurn(["a"]);
    await dueInTurn(["b", "c"], { ...serial, deadline: "30s" });
    await dueInTurn(["d"]);
    for (const key of ["b", "c", "d"]) await claim(key);
    const running = await claimed("a");
    await world.clock.advance(10 * minute);
    await handOver(world.sql, world.queue, (await settle(running)).outgoing);
    await world.work();
    expect(order()).toEqual(["d"]);
    expect(await world.jobs("c")).toMatchObject([{ state: "skipped", reason: "late" }]);
  });
});

describe("a crash in a group", () => {
  test("after a crash a job of a group is retried before the next job starts; if that was its last attempt, the next job starts", async () => {
    await dueInTurn(["a", "b"], { ...serial, retry: { attempts: 2 } });
    await claimed("a");
    await claim("b");
    await world.clock.advance(lease + 1);
    await sweep(world.sql, world.log);
    expect(await claim("b")).toMatchObject({ outcome: "held" });
    await claimed("a");
    await world.clock.advance(lease + 1);
    const { outgoing } = await sweep(world.sql, world.log);
    expect(ids(outgoing)).toContain(await parcelOf("b"));
    expect((await claimed("b")).jobs).toHaveLength(1);
  });

  test("the sweep lets the next job of a group start if the running one is gone without a settle", async () => {
    await dueInTurn(["a", "b"]);
    const running = await claimed("a");
    await claim("b");
    await world.sql`delete from carillon.parcels where id = ${running.id}`;
    await world.sql`update carillon.jobs set state = 'cancelled', parcel_id = null, finished_at = carillon.clock() where parcel_id = ${running.id}`;
    await world.clock.advance(minute);
    expect(ids((await sweep(world.sql, world.log)).outgoing)).toEqual([await parcelOf("b")]);
  });
});

describe("an edit in a group", () => {
  test("a hold of one schedule of a group delays no other, and its jobs run in due order again after the hold", async () => {
    await dueInTurn(["a", "b", "c", "d"]);
    const running = await claimed("a");
    for (const key of ["b", "c", "d"]) await claim(key);
    await world.pause("b");
    expect(ids((await settle(running)).outgoing)).toEqual([await parcelOf("c")]);
    const next = await claimed("c");
    await world.resume("b");
    expect(await claim("b")).toMatchObject({ outcome: "empty" });
    expect(ids((await settle(next)).outgoing)).toEqual([await parcelOf("b")]);
    await settle(await claimed("b"));
    expect((await claimed("d")).jobs).toHaveLength(1);
  });

  test("a hold of the schedule whose job the rest of the group waits for lets the other jobs start at once", async () => {
    await dueInTurn(["a", "b"]);
    await claim("b");
    await world.pause("a");
    await world.work();
    expect(order()).toEqual(["b"]);
  });

  test("a hold of a schedule whose running job is then to be retried lets the other jobs of the group start", async () => {
    await dueInTurn(["a", "b"]);
    await claim("b");
    const running = await claimed("a");
    await world.pause("a");
    expect(ids((await settle(running, failed)).outgoing)).toContain(await parcelOf("b"));
  });

  test("a job under a hold with an end lets the group go on, and starts when the hold ends", async () => {
    await dueInTurn(["a", "b", "c"]);
    const running = await claimed("a");
    for (const key of ["b", "c"]) await claim(key);
    await world.pause("b", { until: at(5 * minute) });
    await settle(running);
    await settle(await claimed("c"));
    await world.clock.setNow(at(5 * minute));
    expect((await claimed("b")).jobs).toHaveLength(1);
  });

  test("a delete of a schedule cancels its waiting jobs, and the group waits until its running job ends", async () => {
    await dueInTurn(["a", "b", "c"]);
    const running = await claimed("a");
    for (const key of ["b", "c"]) await claim(key);
    world.queue.messages = [];
    await world.remove("a");
    await world.remove("b");
    await world.work();
    expect(order()).toEqual([]);
    expect(await world.jobs("b")).toMatchObject([{ state: "cancelled", reason: "deleted" }]);
    expect(ids((await settle(running, failed)).outgoing)).toContain(await parcelOf("c"));
    expect((await claimed("c")).jobs).toHaveLength(1);
  });

  test("when an edit makes schedules serial, waiting jobs let the running one finish and then run in due order", async () => {
    await dueInTurn(["a", "b", "c"], { group: "order:1" });
    const running = await claimed("b");
    for (const key of ["a", "b", "c"]) await world.patch(key, { serial: true });
    expect(await claim("c")).toMatchObject({ outcome: "empty" });
    expect(await claim("a")).toMatchObject({ outcome: "empty" });
    expect(ids((await settle(running)).outgoing)).toEqual([await parcelOf("a")]);
    expect(ids((await settle(await claimed("a"))).outgoing)).toEqual([await parcelOf("c")]);
  });

  test("an edit that takes a schedule out of the group releases its waiting jobs, and those that waited for it", async () => {
    await dueInTurn(["a", "b", "c"]);
    for (const key of ["b", "c"]) await claim(key);
    world.queue.messages = [];
    await world.patch("c", { group: "order:2" });
    await world.work();
    expect(order()).toEqual(["c"]);
    await world.patch("a", { serial: false });
    await world.work();
    expect(order()).toEqual(["c", "b"]);
    expect((await claimed("a")).jobs).toHaveLength(1);
    expect(await world.sql`select from carillon.lane_entries`).toEqual([]);
  });

  test("an edit that moves the due times of a schedule leaves no entry in the lane for which other jobs would wait", async () => {
    await dueInTurn(["a"]);
    await world.put("s", { when: "every 10s", spread: "5s", ...serial });
    await world.tick();
    await world.patch("s", { spread: "0s" });
    const stale = await world.sql`
      select from carillon.lane_entries e where not exists (select from carillon.jobs j
        where j.occurrence = e.occurrence and j.schedule_id = e.schedule_id and j.due_at = e.due_at and j.state = 'waiting')`;
    expect(stale).toEqual([]);
  });
});

test("with exactly the rights of each function, a group's lane is entered, edited, swept and left", async () => {
  await world.stop();
  world = await carillon({ roles: functionRoles });
  await dueInTurn(["a", "b", "c", "d", "e"], { ...serial, overlap: "queue", retry: { attempts: 1 } });
  await claimed("a");
  for (const key of ["b", "c", "d"]) await claim(key);
  await world.clock.advance(2 * minute);
  await world.pause("c");
  await world.patch("e", { serial: false });
  await world.remove("d");
  await world.tick();
  await world.work();
  expect(order().sort()).toEqual(["b", "e"]);
  await world.resume("c");
  await world.work();
  expect(order()).toContain("c");
});
