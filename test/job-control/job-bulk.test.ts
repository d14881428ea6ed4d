import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type DeadPlace, listDead } from "../../lib/history/dead-jobs.ts";
import type { DeadFilter } from "../../lib/history/looked-dead.ts";
import { readJob } from "../../lib/job/read-job.ts";
import { cancelMany } from "../../lib/job-control/cancel-many.ts";
import type { CancelFilter } from "../../lib/job-control/find-open.ts";
import { type RetryFilter, retryMany } from "../../lib/job-control/retry-many.ts";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { done, failed, thrown } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, hour, minute, second } from "../support/instants.ts";
import { oneParcel } from "../support/parcels.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const deps = () => ({ sql: world.sql, queue: world.queue, log: world.log });
const caller = { name: "ann" };

/**
 * Repeats the call with its cursor until the end, `limit` jobs at a time, and returns the counts of
 * each call.
 */
async function retryAll(filter: RetryFilter, limit = 10_000) {
  const counts = [];
  for (let after: string | undefined; ; ) {
    const { next, entry: _, ...count } = await retryMany(deps(), { filter, limit, after, caller });
    counts.push(count);
    if (next === undefined) return counts;
    after = next;
  }
}

async function cancelAll(filter: CancelFilter, limit = 10_000) {
  const counts = [];
  for (let after: string | undefined; ; ) {
    const { next, entry: _, ...count } = await cancelMany(deps(), { filter, limit, after, caller });
    counts.push(count);
    if (next === undefined) return counts;
    after = next;
  }
}

async function listAll(filter: DeadFilter, limit = 2): Promise<string[]> {
  const keys: string[] = [];
  for (let after: DeadPlace | undefined; ; ) {
    const { items, next } = await listDead(world.sql, { filter, order: "newest", after, limit });
    keys.push(...items.map(({ key }) => key));
    if (next === undefined) return keys;
    after = next;
  }
}

/** Makes five schedules with a dead job, a second apart. */
async function fiveDead(): Promise<void> {
  const labels = [
    { group: "g", tags: ["red"] },
    { group: "g", target: { handler: "h" } },
    { tags: ["red"], target: { handler: "h" } },
    { group: "other" },
    {},
  ];
  world.outcome = ({ key }) => thrown(new Error("no"), key === "job-4");
  for (const [index, label] of labels.entries()) {
    await world.put(`job-${index}`, { when: "in 1s", retry: { attempts: 1 }, ...label });
    await world.tick();
    await world.clock.advance(second);
    await world.work();
  }
  world.outcome = () => done;
}

describe("the list of dead jobs", () => {
  test("the list of dead jobs is newest first, in pages without a gap, and takes every filter", async () => {
    await fiveDead();
    expect(await listAll({})).toEqual(["job-4", "job-3", "job-2", "job-1", "job-0"]);
    expect(await listAll({ key: "job-3" })).toEqual(["job-3"]);
    expect(await listAll({ key: "job" })).toEqual([]);
    expect(await listAll({ prefix: "job-" }, 1)).toEqual(["job-4", "job-3", "job-2", "job-1", "job-0"]);
    expect(await listAll({ group: "g" })).toEqual(["job-1", "job-0"]);
    expect(await listAll({ tag: "red" })).toEqual(["job-2", "job-0"]);
    expect(await listAll({ target: "handler" })).toEqual(["job-2", "job-1"]);
    expect(await listAll({ target: "handler/h", group: "g" })).toEqual(["job-1"]);
    expect(await listAll({ target: "handler/other" })).toEqual([]);
    expect(await listAll({ reason: "gave-up" })).toEqual(["job-4"]);
    expect(await listAll({ from: at(2 * second), to: at(4 * second) })).toEqual(["job-2", "job-1"]);
  });

  test("the list of dead jobs includes jobs of deleted schedules", async () => {
    await fiveDead();
    await world.remove("job-1");
    expect(await listAll({ group: "g" })).toEqual(["job-1", "job-0"]);
    expect(await listAll({ key: "job-1" })).toEqual(["job-1"]);
    expect(await listAll({})).toHaveLength(5);
  });

  test("the list of dead jobs has each of several jobs that died at one instant once", async () => {
    await oneParcel(world, 7, { retry: { attempts: 1 } });
    world.outcome = () => failed("no");
    await world.work();
    const listed = await listAll({}, 3);
    expect(listed).toHaveLength(7);
    expect(new Set(listed).size).toBe(7);
  });

  test("the list of dead jobs reads a limited number of jobs, and finds those behind them", async () => {
    await fiveDead();
    await world.sql`
      insert into carillon.dead_jobs (occurrence, schedule_id, kind, n, died_at)
      select j.occurrence, j.schedule_id, 'manual', i, ${at(minute)} from carillon.jobs j join carillon.schedules s on s.id = j.schedule_id
      cross join generate_series(1, 6000) i where s.key = 'job-4'`;
    const first = await listDead(world.sql, { filter: { tag: "red" }, order: "newest", limit: 50 });
    expect(first.items).toEqual([]);
    expect(first.next).toBeDefined();
    expect(await listAll({ tag: "red" }, 50)).toEqual(["job-2", "job-0"]);
    expect(
      (await listDead(world.sql, { filter: { group: "g" }, order: "newest", limit: 50 })).items,
    ).toHaveLength(2);
  });

  test("the list of dead jobs continues behind jobs whose schedules are gone, which it leaves out", async () => {
    await fiveDead();
    await world.sql`
      insert into carillon.dead_jobs (occurrence, schedule_id, kind, n, died_at, shard)
      select d.occurrence, 1000000 + g, 'cadence', 0, d.died_at + g * interval '1 hour', 0
      from (select * from carillon.dead_jobs limit 1) d, generate_series(1, 1000) g`;
    expect(await listAll({})).toHaveLength(5);
  });
});

describe("the retry of many jobs", () => {
  test("a retry of many jobs retries all matching dead jobs, and returns a cursor if there are more", async () => {
    await fiveDead();
    expect(await retryAll({ state: "dead", group: "g" })).toEqual([{ done: 2, leftOut: 0, failed: 0 }]);
    expect(await listAll({})).toEqual(["job-4", "job-3", "job-2"]);
    expect(await retryAll({ state: "dead" }, 2)).toEqual([
      { done: 2, leftOut: 0, failed: 0 },
      { done: 1, leftOut: 0, failed: 0 },
    ]);
    await world.work();
    await world.clock.advance(2 * second);
    await world.work();
    expect((await world.jobs()).map(({ state, attempt }) => ({ state, attempt }))).toEqual(
      Array.from({ length: 5 }, () => ({ state: "succeeded", attempt: 2 })),
    );
    expect(
      await world.sql`select subject, detail, prefix from carillon.audit where action = 'jobs.retried' order by id`,
    ).toEqual([
      {
        subject: "state dead, group g",
        detail: { jobs: 2, filter: { state: "dead", group: "g" } },
        prefix: "",
      },
      { subject: "state dead", detail: { jobs: 2, filter: { state: "dead" } }, prefix: "" },
      { subject: "state dead", detail: { jobs: 1, filter: { state: "dead" } }, prefix: "" },
    ]);
  });

  test("a retry of many jobs leaves out jobs that cannot be retried", async () => {
    await fiveDead();
    await world.remove("job-0");
    expect(await retryAll({ state: "dead" }, 1)).toEqual([
      { done: 1, leftOut: 1, failed: 0 },
      { done: 1, leftOut: 0, failed: 0 },
      { done: 1, leftOut: 0, failed: 0 },
      { done: 1, leftOut: 0, failed: 0 },
    ]);
  });

  test("a retry of many jobs does not retry jobs that died after it began, in any number of calls", async () => {
    await fiveDead();
    world.outcome = () => failed("no");
    const counts = [];
    for (let after: string | undefined; counts.length < 20; ) {
      const {
        next,
        entry: _,
        ...count
      } = await retryMany(deps(), {
        filter: { state: "dead" },
        limit: 2,
        after,
        caller,
      });
      counts.push(count.done);
      await world.clock.advance(2 * second);
      await world.work();
      if (next === undefined) break;
      after = next;
    }
    expect(counts).toEqual([2, 2, 1]);
    expect(await listAll({})).toHaveLength(5);
  });

  test("a retry of many jobs starts them slowly, behind the backlog jobs that are under way", async () => {
    await oneParcel(world, 1);
    await world.sql`
      insert into carillon.jobs (occurrence, schedule_id, kind, n, due_at, version, state, attempt, reason, started_at, finished_at)
      select occurrence, schedule_id, 'manual', i, due_at, 1, 'dead', 1, 'attempts', due_at, due_at from carillon.jobs cross join generate_series(0, 2999) i`;
    await world.sql`
      insert into carillon.dead_jobs (occurrence, schedule_id, kind, n, died_at)
      select occurrence, schedule_id, kind, n, finished_at from carillon.jobs where state = 'dead'`;
    await world.clock.advance(second);
    expect(await retryAll({ state: "dead" }, 1_500)).toEqual([
      { done: 1_500, leftOut: 0, failed: 0 },
      { done: 1_500, leftOut: 0, failed: 0 },
    ]);
    const [spread] = await world.sql`
      select count(*)::int as parcels, max(cardinality(occurrences)) as most, bool_and(owed) as owed,
        extract(epoch from max(ready_at) - ${at(minute + second)})::float8 as seconds
      from carillon.parcels where kinds is not null`;
    expect(spread).toMatchObject({ most: 250, owed: true });
    expect(spread?.["seconds"]).toBeGreaterThan(5.5);
    expect(spread?.["seconds"]).toBeLessThan(6.5);
    expect(await world.sql`select from carillon.jobs where ready_at < due_at`).toEqual([]);
  });

  /** Makes a dead job of each of these schedules. */
  async function deadJobs(...keys: string[]): Promise<void> {
    world.outcome = () => failed("no");
    for (const key of keys) await world.put(key, { when: "in 1s", retry: { attempts: 1 } });
    await world.tick();
    await world.clock.advance(second);
    await world.work();
  }

  /** The seconds until the job of `<prefix>a` is ready, after a retry of all dead jobs of the prefix. */
  async function wait(prefix: string): Promise<number | undefined> {
    await retryMany(deps(), { filter: { state: "dead", prefix }, limit: 10, caller });
    const [row] = await world.sql<{ seconds: number }[]>`
      select extract(epoch from j.ready_at - carillon.clock())::float8 as seconds
      from carillon.jobs j join carillon.schedules s on s.id = j.schedule_id where s.key = ${`${prefix}a`} and j.state = 'waiting'`;
    return row?.seconds;
  }

  test("the retries of a prefix do not wait for those of another", async () => {
    await deadJobs("shop:a", "bank:a");
    await world.sql`
      insert into carillon.parcels (shard, queue, ready_at, offer_at, occurrences, schedule_ids, kinds, ns, owed)
      select s.shard, 'fast', carillon.clock() + g * interval '1 second', carillon.clock(), array_fill(${at(second)}::timestamptz, array[250]),
        array_fill(s.id, array[250]), array_fill('manual'::carillon.job_kind, array[250]), array_fill(1, array[250]), true
      from carillon.schedules s cross join generate_series(1, 10) g where s.key = 'shop:a'`;
    expect(await wait("bank:")).toBeLessThan(1);
    // 2,500 jobs, 500 a second.
    expect(await wait("shop:")).toBeCloseTo(5, 1);
  });

  test("the retries of a prefix do not wait for retries that a hold keeps", async () => {
    await deadJobs("shop:held");
    await world.pause("shop:held");
    await retryMany(deps(), { filter: { state: "dead", prefix: "shop:" }, limit: 10, caller });
    await world.clock.advance(second);
    await world.work();
    const held = await world.sql`
      insert into carillon.parcels (shard, queue, ready_at, offer_at, occurrences, schedule_ids, kinds, ns, owed, held_schedule)
      select p.shard, p.queue, p.ready_at, p.offer_at, array_fill(p.occurrences[1], array[250]), array_fill(p.schedule_ids[1], array[250]),
        array_fill(p.kinds[1], array[250]), array_fill(p.ns[1], array[250]), p.owed, p.held_schedule
      from carillon.parcels p cross join generate_series(1, 10) where p.held_schedule is not null returning owed, ready_at::text as ready`;
    expect(held).toHaveLength(10);
    expect(held[0]).toEqual({ owed: true, ready: "infinity" });
    await deadJobs("shop:a");
    expect(await wait("shop:")).toBeLessThan(1);
  });

  test("a retry of cancelled jobs goes through the history of one schedule", async () => {
    await world.put("often", { when: "every 10s" });
    await world.tick();
    await world.clock.advance(60 * second);
    expect(await cancelAll({ key: "often" })).toMatchObject([{ running: 0 }]);
    expect(
      await retryAll({ state: "cancelled", key: "often", from: at(20 * second), to: at(50 * second) }, 2),
    ).toEqual([
      { done: 2, leftOut: 0, failed: 0 },
      { done: 1, leftOut: 0, failed: 0 },
    ]);
    expect((await world.jobs("often")).slice(0, 6).map(({ state }) => state)).toEqual([
      "cancelled",
      "waiting",
      "waiting",
      "waiting",
      "cancelled",
      "cancelled",
    ]);
    await expect(retryAll({ state: "cancelled", key: "nobody" })).rejects.toMatchObject({ kind: "missing" });
  });
});

describe("the cancel of many jobs", () => {
  test("a cancel of many jobs cancels matching jobs that wait, run or are to be retried, and no others", async () => {
    const parcel = await oneParcel(world, 6, { group: "g" });
    await world.put("job-7", { when: "at 2026-03-02T10:01:00", tags: ["red"] });
    await claimParcel(world.sql, parcel, 30 * second);
    await world.put("late", { when: "in 1s", group: "g" });
    await world.put("failing", { when: "in 1s", group: "g" });
    await world.tick();
    await world.clock.advance(second);
    world.outcome = ({ key }) => (key === "failing" ? failed("no") : done);
    world.queue.messages = world.queue.messages.filter(({ queue }) => queue === "fast");
    await world.pause("late");
    await world.work();
    expect((await world.jobs("failing"))[0]).toMatchObject({ state: "waiting", attempt: 1 });
    expect((await world.jobs("late"))[0]).toMatchObject({ state: "waiting", attempt: 0 });
    expect(await cancelAll({ group: "g", state: "retrying" })).toEqual([{ done: 1, running: 0, failed: 0 }]);
    expect(await cancelAll({ group: "g" }, 4)).toMatchObject([{ done: 4 }, { done: 3 }]);
    expect(await cancelAll({ group: "g" })).toEqual([{ done: 0, running: 0, failed: 0 }]);
    expect((await world.jobs("failing"))[0]).toMatchObject({
      state: "cancelled",
      reason: "requested",
      attempt: 1,
    });
    expect((await world.jobs("late"))[0]).toMatchObject({ state: "cancelled" });
    expect(await world.sql`select from carillon.jobs where cancel_asked`).toHaveLength(6);
    expect((await world.jobs("job-7"))[0]).toMatchObject({ state: "succeeded" });
  });

  test("a cancel of many jobs stops in the middle of a parcel and continues there", async () => {
    await oneParcel(world, 8);
    expect(await cancelAll({ prefix: "job-" }, 3)).toEqual([
      { done: 3, running: 0, failed: 0 },
      { done: 3, running: 0, failed: 0 },
      { done: 2, running: 0, failed: 0 },
    ]);
    expect(await world.sql`select from carillon.parcels`).toEqual([]);
  });

  test("a cancel of many jobs finds them in many parcels, by tag and by target", async () => {
    for (let index = 0; index < 900; index++)
      await world.sql`insert into carillon.parcels (shard, queue, ready_at, offer_at, occurrences, schedule_ids)
        values (0, 'fast', 'infinity', 'infinity', '{}', '{}')`;
    await world.put("tagged", { when: "in 1s", tags: ["red"], target: { handler: "h" } });
    await world.put("plain", { when: "in 1s" });
    await world.tick();
    expect(await cancelAll({ tag: "red", target: "handler/h" })).toEqual([
      { done: 1, running: 0, failed: 0 },
    ]);
    expect((await world.jobs("tagged"))[0]).toMatchObject({ state: "cancelled" });
    expect((await world.jobs("plain"))[0]).toMatchObject({ state: "waiting" });
    expect(await cancelAll({ key: "nobody" })).toEqual([{ done: 0, running: 0, failed: 0 }]);
  });

  test("a cancel of a job in a group's lane lets the jobs of others pass", async () => {
    for (const key of ["a", "b", "c"])
      await world.put(key, { when: "in 1s", group: "g", serial: true, retry: { base: "1h", max: "1h" } });
    await world.tick();
    await world.clock.advance(second);
    world.outcome = () => failed("no");
    await world.work();
    expect(world.delivered).toHaveLength(1);
    const [{ key: first = "" } = {}] = world.delivered;
    world.outcome = () => done;
    world.delivered = [];
    expect(await cancelAll({ key: first })).toEqual([{ done: 1, running: 0, failed: 0 }]);
    await world.work();
    expect(world.delivered.map(({ key }) => key).sort()).toEqual(
      ["a", "b", "c"].filter((key) => key !== first),
    );
  });
});

describe("two requests at once", () => {
  test("a job with a concurrent cancel and claim is cancelled and does not start, or is asked to stop", async () => {
    for (let round = 0; round < 8; round++) {
      await world.put(`race-${round}`, { when: "in 1s" });
      await world.tick();
      await world.clock.advance(second);
      const [{ id: parcel = "0" } = {}] = await world.sql<{ id: string }[]>`
        select p.id from carillon.parcels p join carillon.jobs j on j.parcel_id = p.id
        join carillon.schedules s on s.id = j.schedule_id where s.key = ${`race-${round}`}`;
      const [claim, [cancel]] = await Promise.all([
        claimParcel(world.sql, parcel, 30 * second),
        cancelAll({ key: `race-${round}` }),
      ]);
      const [job] = await world.jobs(`race-${round}`);
      if (claim.outcome === "claimed") {
        expect(cancel).toMatchObject({ done: 1, running: 1, failed: 0 });
        expect(job).toMatchObject({ state: "waiting" });
      } else {
        expect(cancel).toMatchObject({ done: 1, running: 0, failed: 0 });
        expect(job).toMatchObject({ state: "cancelled" });
      }
    }
  });

  test("concurrent cancels, retries, edits and workers leave every job in one state and no parcel behind", async () => {
    for (let index = 0; index < 12; index++)
      await world.put(`job-${index}`, {
        when: "every 20s",
        retry: { attempts: 2, backoff: "fixed", base: "1s" },
        ...(index % 3 === 0 ? { overlap: "queue" } : {}),
        ...(index % 3 === 1 ? { group: "g", serial: true } : {}),
      });
    let turn = 0;
    world.outcome = () => (++turn % 3 === 0 ? failed("no") : done);
    for (let round = 0; round < 6; round++) {
      await world.clock.advance(45 * second);
      await world.tick();
      await Promise.all([
        world.work(),
        cancelAll({ prefix: "job-" }, 7),
        retryAll({ state: "dead" }, 5),
        retryAll({ state: "cancelled", key: "job-0" }),
        world.patch(`job-${round}`, { payload: round }),
        cancelAll({ group: "g" }),
      ]);
    }
    for (let index = 0; index < 12; index++) await world.remove(`job-${index}`);
    world.outcome = () => done;
    for (let minutes = 0; minutes < 5; minutes++) {
      await world.clock.advance(minute);
      await world.tick();
      await world.work();
    }
    await world.clock.advance(hour);
    await world.tick();
    await world.work();
    expect(await world.sql`select from carillon.jobs where state = 'waiting'`).toEqual([]);
    expect(await world.sql`select * from carillon.parcels`).toEqual([]);
    const [dead] = await world.sql`
      select (select count(*) from carillon.jobs where state = 'dead') = (select count(*) from carillon.dead_jobs) as same`;
    expect(dead).toEqual({ same: true });
  });

  test("a job with a concurrent retry and delete of its schedule is dead, or cancelled with the schedule", async () => {
    for (let round = 0; round < 5; round++) {
      const key = `race-${round}`;
      await world.put(key, { when: "in 1s", retry: { attempts: 1 } });
      await world.tick();
      await world.clock.advance(second);
      world.outcome = () => failed("no");
      await world.work();
      await Promise.all([retryAll({ state: "dead", key }), world.remove(key)]);
      world.outcome = () => done;
      world.delivered = [];
      await world.work();
      await world.clock.advance(second);
      await world.work();
      expect(world.delivered).toEqual([]);
      const { items } = await listDead(world.sql, { filter: { key }, order: "newest", limit: 1 });
      const [stored] = await world.jobs(key);
      expect(items.map(({ state }) => state)).toEqual(stored?.state === "dead" ? ["dead"] : []);
      expect(["dead", "cancelled"]).toContain(stored?.state);
      expect(await readJob(world.sql, items[0]?.id ?? "0")).toEqual(
        items.length === 0 ? null : expect.objectContaining({ state: "dead" }),
      );
    }
  });
});
