import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { explain } from "../../lib/explain/explain.ts";
import { jobsOf } from "../../lib/history/job-history.ts";
import { fireNow } from "../../lib/job-control/fire-now.ts";
import { clearLimits, readLimits, setLimits } from "../../lib/limit/limits.ts";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { endLease } from "../../lib/parcel/end-lease.ts";
import { findSchedule } from "../../lib/schedule/stored/stored-schedule.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";
import { attemptsOf, due, dueOnce, ids, lease, parcels, swept, workerOf } from "./limit-world.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const caller = { name: "ann" };
const limit = (target: string, concurrency: number | null) =>
  setLimits(world, { target, limits: { concurrency, rate: null }, caller });

/** This number of jobs of one handler, in parcels of ten, due and not sent. */
async function slowJobs(count: number, body: object = { target: { handler: "a" } }): Promise<string[]> {
  await dueOnce(world, "a", count, body);
  await world.tick();
  world.queue.messages = [];
  await world.clock.setNow(due);
  return ids(world);
}

describe("a slow parcel", () => {
  test("a slow parcel holds jobs of one target and of one priority", async () => {
    await dueOnce(world, "a", 3);
    await dueOnce(world, "b", 2);
    await dueOnce(world, "c", 1, { target: { handler: "a" }, priority: "high" });
    await world.sql`update carillon.schedules set shard = 0`;
    await world.sql`update carillon.plan set shard = 0`;
    await world.tick();
    expect((await parcels(world, "handler/a")).map(({ jobs, priority }) => [jobs, priority])).toEqual([
      [1, -1],
      [3, null],
    ]);
    expect((await parcels(world, "handler/b")).map(({ jobs }) => jobs)).toEqual([2]);
  });

  test("a slow parcel that was packed without regard to targets keeps the first target's jobs, and the others leave it and are sent at once", async () => {
    await dueOnce(world, "a", 2);
    await dueOnce(world, "b", 2);
    await world.sql`update carillon.schedules set shard = 0`;
    await world.sql`update carillon.plan set shard = 0`;
    await world.tick();
    await world.clock.setNow(due);
    await world.sql`
      with gone as (delete from carillon.parcels returning occurrences, schedule_ids), made as (
        insert into carillon.parcels (shard, queue, ready_at, offer_at, owed, occurrences, schedule_ids)
        select 0, 'slow', ${due}, ${due}, true, array_agg(k.o order by k.s), array_agg(k.s order by k.s)
        from gone g cross join lateral unnest(g.occurrences, g.schedule_ids) k (o, s) returning id)
      update carillon.jobs set parcel_id = made.id from made`;
    const { claimed, settle } = workerOf(world, 5);
    const first = await claimed((await ids(world))[0] ?? "");
    expect(first.jobs.map(({ key }) => key)).toEqual(["a-000", "a-001"]);
    expect(first.freed).toMatchObject([{ queue: "slow", waitMs: 0 }]);
    expect(await parcels(world, "handler/b")).toMatchObject([{ jobs: 2, owed: true }]);
    await settle(first);
    expect((await claimed(first.freed[0]?.id ?? "")).jobs.map(({ key }) => key)).toEqual(["b-000", "b-001"]);
  });

  test("a job whose schedule has another target since leaves its slow parcel for the edit's target", async () => {
    const [id = ""] = await slowJobs(2);
    await world.patch("a-001", { target: { handler: "b" } });
    const first = await workerOf(world, 5).claimed(id);
    expect(first.jobs.map(({ key }) => key)).toEqual(["a-000"]);
    expect((await parcels(world, "handler/b")).map(({ jobs }) => jobs)).toEqual([1]);
  });
});

describe("the window", () => {
  test("the window limits the parcels of one target that are worked at once, and other targets go on", async () => {
    const [one = "", two = "", three = ""] = await slowJobs(30);
    await dueOnce(world, "b", 1, { target: { handler: "b" } }, at(minute + second));
    await world.tick();
    await world.clock.setNow(at(minute + second));
    const [other = ""] = await ids(world, "handler/b");
    const { claim, claimed, settle } = workerOf(world, 2);
    const first = await claimed(one);
    await claimed(two);
    expect(await claim(three)).toMatchObject({ outcome: "held", freed: [] });
    expect(await claim(three)).toMatchObject({ outcome: "held" });
    expect((await claimed(other)).jobs).toHaveLength(1);
    expect(await settle(first)).toEqual([three]);
    expect((await claimed(three)).jobs).toHaveLength(10);
    expect(await attemptsOf(world)).toEqual([{ attempt: 0 }, { attempt: 1 }]);
  });

  test("a great burst sends a few parcels; the others wait in the database from the beginning, and all are worked without a tick", async () => {
    await dueOnce(world, "a", 200);
    await world.tick();
    expect(world.queue.messages).toHaveLength(4);
    expect((await parcels(world)).filter(({ turn }) => turn === "waits")).toHaveLength(16);
    await world.clock.setNow(due);
    world.window = 3;
    await world.work();
    expect(world.delivered).toHaveLength(200);
    expect(await parcels(world)).toEqual([]);
  });

  test("the window gives no turn before a parcel's time", async () => {
    await dueOnce(world, "a", 200);
    await world.tick();
    await world.clock.setNow(at(minute - second));
    expect(await swept(world)).toEqual([]);
    await world.clock.setNow(due);
    expect(await swept(world)).not.toEqual([]);
  });

  test("claims at the same moment keep to the window", async () => {
    const all = await slowJobs(40);
    const { claim } = workerOf(world, 2);
    const outcomes = (await Promise.all(all.map((id) => claim(id)))).map(({ outcome }) => outcome).sort();
    expect(outcomes).toEqual(["claimed", "claimed", "held", "held"]);
  });

  test("the window is kept with the rights that each function has in production", async () => {
    await world.stop();
    world = await carillon({ roles: functionRoles });
    await limit("handler/a", 1);
    world.window = 2;
    await dueOnce(world, "a", 60);
    await world.tick();
    await world.clock.setNow(due);
    await world.work();
    await world.tick();
    await world.work();
    expect(world.delivered).toHaveLength(60);
  });
});

describe("a limit of concurrency", () => {
  test("a limit of one lets a parcel of ten go on with one job at a time, and the next when it is settled, in due order", async () => {
    await limit("handler/a", 1);
    const [one = "", two = "", three = ""] = await slowJobs(30);
    const { claim, claimed, settle } = workerOf(world, 5);
    const first = await claimed(one);
    expect(first).toMatchObject({ slots: 1 });
    expect(first.jobs).toHaveLength(10);
    for (const id of [three, two]) expect(await claim(id)).toMatchObject({ outcome: "held" });
    expect(await settle(first)).toEqual([two]);
    expect(await settle(await claimed(two))).toEqual([three]);
    expect(await settle(await claimed(three))).toEqual([]);
  });

  test("a limit is divided: the last parcel gets the remaining places", async () => {
    await limit("handler/a", 12);
    const [one = "", two = "", three = ""] = await slowJobs(25);
    const { claim, claimed, settle } = workerOf(world, 5);
    const first = await claimed(one);
    expect(first.slots).toBe(10);
    expect((await claimed(two)).slots).toBe(2);
    expect(await claim(three)).toMatchObject({ outcome: "held" });
    expect(await settle(first)).toEqual([three]);
    expect((await claimed(three)).slots).toBe(5);
  });

  test("raising a limit releases waiting parcels at once, and lowering it ends no job", async () => {
    await limit("handler/a", 10);
    const [one = "", two = "", three = "", four = ""] = await slowJobs(40);
    const { claim, claimed, settle } = workerOf(world, 9);
    const first = await claimed(one);
    for (const id of [two, three, four]) await claim(id);
    await limit("handler/a", 30);
    expect(world.queue.messages.map(({ body }) => JSON.parse(body).parcel)).toEqual([two, three]);
    const second_ = await claimed(two);
    await limit("handler/a", 10);
    // The parcel `three` had a turn, which its worker had not taken yet: the lower limit revokes
    // it.
    expect(await claim(three)).toMatchObject({ outcome: "held" });
    expect(await settle(first)).toEqual([]);
    expect(await settle(second_)).toEqual([three]);
    await claimed(three);
    world.queue.messages = [];
    await clearLimits(world, { target: "handler/a", caller });
    expect(world.queue.messages.map(({ body }) => JSON.parse(body).parcel)).toEqual([four]);
    expect((await claimed(four)).jobs).toHaveLength(10);
  });

  test("the next parcel gets the turn when a parcel's worker crashes, and when nothing in a parcel may start", async () => {
    await limit("handler/a", 10);
    const [one = "", two = "", three = ""] = await slowJobs(30);
    const { claim, claimed } = workerOf(world, 5);
    await claimed(one);
    for (const id of [two, three]) await claim(id);
    await world.clock.advance(lease + 1);
    const ended = await endLease(world, one, []);
    expect(ended.outgoing.map(({ id }) => id)).toContain(two);
    for (let index = 10; index < 20; index++) await world.remove(`a-0${index}`);
    expect(await claim(two)).toMatchObject({ outcome: "empty", freed: [{ id: three }] });
  });

  test("the sweep sends a parcel with a turn if its message is lost, and gives the turn if the worker that should have given it died", async () => {
    await limit("handler/a", 10);
    const [one = "", two = ""] = await slowJobs(20);
    const { claim, claimed, settle } = workerOf(world, 5);
    const first = await claimed(one);
    await claim(two);
    expect(await swept(world)).toEqual([]);
    expect(await settle(first)).toEqual([two]);
    await world.clock.advance(20 * second);
    expect(await swept(world)).toEqual([two]);
    await world.sql`update carillon.parcels set turn = 'waits', slots = null, ready_at = 'infinity', offer_at = 'infinity'`;
    expect(await swept(world)).toEqual([two]);
    expect((await claimed(two)).jobs).toHaveLength(10);
  });

  test("jobs of a held or deleted schedule keep waiting for their turn, and are parked or cancelled then", async () => {
    await limit("handler/a", 10);
    const [one = "", two = ""] = await slowJobs(13);
    const { claim, claimed, settle } = workerOf(world, 5);
    const first = await claimed(one);
    await claim(two);
    await world.pause("a-010");
    await world.remove("a-011");
    expect(await settle(first)).toEqual([two]);
    expect((await claimed(two)).jobs.map(({ key }) => key)).toEqual(["a-012"]);
    expect((await world.jobs("a-011"))[0]).toMatchObject({ state: "cancelled", reason: "deleted" });
    await world.resume("a-010");
    expect(world.queue.messages).toHaveLength(1);
  });

  test("a limit applies to jobs that already wait in parcels of many targets", async () => {
    const body = { target: { queue: "demo" } };
    await dueOnce(world, "a", 30, body);
    await dueOnce(world, "b", 30, { target: { queue: "other" } });
    await world.sql`update carillon.schedules set shard = 0`;
    await world.sql`update carillon.plan set shard = 0`;
    await world.tick();
    await limit("queue/demo", 7);
    await world.clock.setNow(due);
    await world.work();
    expect(world.delivered).toHaveLength(60);
    expect(world.delivered.slice(0, 30).map(({ key }) => key[0])).toEqual(
      Array.from({ length: 30 }, () => "b"),
    );
    expect(await parcels(world)).toEqual([]);
  });

  test("a limit cuts a fast parcel to the jobs that may leave at once", async () => {
    await limit("queue/demo", 7);
    await dueOnce(world, "a", 20, { target: { queue: "demo" } });
    await world.tick();
    await world.clock.setNow(due);
    expect((await parcels(world)).map(({ jobs }) => jobs)).toEqual([7, 7, 6]);
    const [one = "", two = ""] = await ids(world);
    await limit("queue/demo", 10);
    const { claimed } = workerOf(world);
    expect((await claimed(one)).jobs).toHaveLength(7);
    expect((await claimed(two)).jobs).toHaveLength(3);
    expect((await parcels(world)).map(({ jobs }) => jobs).sort()).toEqual([3, 4, 6, 7]);
  });

  test("jobs from the backlog stay marked as such when their parcel is split", async () => {
    const [id = ""] = await slowJobs(20, { target: { queue: "demo" } });
    await world.sql`update carillon.parcels set owed = true`;
    await limit("queue/demo", 4);
    expect(await workerOf(world).claim(id)).toMatchObject({ outcome: "empty" });
    const [first = ""] = await ids(world);
    expect((await workerOf(world).claimed(first)).jobs).toHaveLength(4);
    expect((await parcels(world)).map(({ owed }) => owed)).toEqual([true, true, true, true]);
  });

  test("a job that comes later does not overtake those that wait", async () => {
    await limit("handler/a", 10);
    const [one = "", two = ""] = await slowJobs(20);
    const { claim, claimed, settle } = workerOf(world, 5);
    const first = await claimed(one);
    await claim(two);
    // The worker that should have given the second parcel its turn died.
    await world.sql`delete from carillon.parcels where id = ${one}`;
    await world.clock.advance(second);
    await fireNow(world, { key: "a-000", caller });
    const last = (await ids(world)).find((id) => id !== two) ?? "";
    expect(await claim(last)).toMatchObject({ outcome: "held", freed: [{ id: two }] });
    expect(await settle(await claimed(two))).toEqual([last]);
    expect(first.jobs).toHaveLength(10);
  });

  test("a parcel that was handed back keeps its turn before later ones", async () => {
    await limit("handler/a", 1);
    await dueOnce(world, "later", 1, { target: { handler: "a" } }, at(minute + second));
    const [one = "", two = ""] = await slowJobs(1);
    await world.clock.setNow(at(minute + second));
    const { claim, claimed, settle } = workerOf(world, 5);
    const first = await claimed(one);
    await claim(two);
    await world.clock.advance(second);
    expect((await settle(first, { kind: "back" })).at(-1)).toBe(two);
    const back = (await ids(world)).find((id) => id !== two) ?? "";
    expect(await claim(back)).toMatchObject({ outcome: "held" });
    expect(await ids(world)).toEqual([back, two]);
  });
});

describe("explain of a waiting job", () => {
  test("explain names the target that a job waits for, and its start as soon as that is known", async () => {
    await limit("handler/a", 1);
    await dueOnce(world, "later", 1, { target: { handler: "a" } }, at(minute + second));
    const [one = "", two = ""] = await slowJobs(1);
    await world.clock.setNow(at(minute + second));
    const { claim, claimed, settle } = workerOf(world, 5);
    const first = await claimed(one);
    await claim(two);
    const params = { key: "later-000", at: at(minute + second) };
    expect(await explain(world.sql, params)).toMatchObject({
      outcome: "waiting",
      reason: "target",
      sentence: expect.stringContaining("handler/a"),
    });
    const [job] = (await jobsOf(world.sql, await schedule("later-000"), { limit: 1 })).items;
    expect(job).toMatchObject({ state: "waiting", readyAt: null });
    expect(await readLimits(world.sql, "handler/a")).toMatchObject({ running: 1, waiting: 1 });
    await settle(first);
    expect((await jobsOf(world.sql, await schedule("later-000"), { limit: 1 })).items).toMatchObject([
      { readyAt: at(minute + second) },
    ]);
  });

  async function schedule(key: string) {
    const found = await findSchedule(world.sql, key);
    if (found === null) throw new Error(`There is no schedule ${key}.`);
    return found;
  }
});

describe("priority", () => {
  async function waiting(): Promise<string[]> {
    await limit("handler/a", 1);
    await dueOnce(world, "a", 1);
    await dueOnce(world, "low", 1, { target: { handler: "a" }, priority: "low" });
    await dueOnce(world, "normal", 1, { target: { handler: "a" } });
    await dueOnce(world, "high", 1, { target: { handler: "a" }, priority: "high" });
    await world.tick();
    await world.clock.setNow(due);
    const { claim } = workerOf(world, 5);
    const own = await world.sql<{ id: string }[]>`
      select p.id from carillon.parcels p join carillon.schedules s on s.id = p.schedule_ids[1]
      order by array_position(array['a-000', 'low-000', 'normal-000', 'high-000'], s.key)`;
    for (const { id } of own) await claim(id);
    return own.map(({ id }) => id);
  }

  test("turns go to high priorities first and to low ones last", async () => {
    const [first = "", low = "", normal = "", high = ""] = await waiting();
    const { claimed, settle } = workerOf(world, 5);
    await world.sql`delete from carillon.parcels where id = ${first}`;
    expect(await swept(world)).toEqual([high]);
    expect(await settle(await claimed(high))).toEqual([normal]);
    expect(await settle(await claimed(normal))).toEqual([low]);
  });

  test("a low priority that has waited twenty minutes longer goes before a high one", async () => {
    const [, low = ""] = await waiting();
    await world.clock.setNow(at(minute + 20 * minute + 1));
    await fireNow(world, { key: "high-000", caller });
    const fresh = (await ids(world)).at(-1) ?? "";
    await claimParcel(world.sql, fresh, lease, 5);
    const order = await world.sql<
      { id: string }[]
    >`select id from carillon.parcels where turn = 'waits' order by turn_at, id`;
    expect(order.map(({ id }) => id).indexOf(low)).toBeLessThan(order.map(({ id }) => id).indexOf(fresh));
  });

  test("high priorities are sent first, within a tick and by the sweep", async () => {
    const target = { queue: "demo" };
    await dueOnce(world, "low", 1, { target, priority: "low" });
    await dueOnce(world, "normal", 1, { target });
    await dueOnce(world, "high", 1, { target, priority: "high" });
    await world.sql`update carillon.schedules set shard = 0`;
    await world.sql`update carillon.plan set shard = 0`;
    world.queue.fate = () => "lost";
    await world.tick();
    const sent = async () => {
      const requests = world.queue.requests.splice(0).flat();
      const keys = await world.sql<{ id: string; key: string }[]>`
        select p.id, s.key from carillon.parcels p join carillon.schedules s on s.id = p.schedule_ids[1]`;
      return requests.map(({ Id }) => keys.find(({ id }) => id === Id)?.key);
    };
    expect(await sent()).toEqual(["high-000", "normal-000", "low-000"]);
    await world.clock.setNow(at(3 * minute));
    await swept(world);
    expect(await sent()).toEqual(["high-000", "normal-000", "low-000"]);
  });
});
