import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { cancelJob } from "../../lib/edit/cancel-jobs.ts";
import { jobsOf } from "../../lib/history/job-history.ts";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import { jobId } from "../../lib/job/job-id.ts";
import { readJob } from "../../lib/job/read-job.ts";
import { fireNow } from "../../lib/job-control/fire-now.ts";
import { retryJob, retryJobs } from "../../lib/job-control/retry-jobs.ts";
import { done, failed, thrown } from "../../lib/target/delivery.ts";
import { whileEdited } from "../edit/while-edited.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { dropPastDays } from "../support/drop-past-days.ts";
import { at, day, hour, minute, second } from "../support/instants.ts";
import { oneParcel } from "../support/parcels.ts";
import { functionRoles } from "../support/role-logins.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const deps = () => ({ sql: world.sql, queue: world.queue });
const caller = { name: "ann" };
const retry = (id: string) => retryJob(deps(), { id, reason: "fixed", caller });

async function idOf(key: string): Promise<string> {
  const schedule = await readSchedule(world.sql, key);
  const [job] = (await jobsOf(world.sql, { id: schedule?.id ?? "" }, { limit: 1 })).items;
  if (job === undefined) throw new Error(`${key} has no job.`);
  return job.id;
}

/** Makes a job whose attempts have all failed. */
async function deadJob(body: object = {}): Promise<string> {
  await oneParcel(world, 1, { retry: { attempts: 2, backoff: "fixed", base: "10s" }, ...body });
  world.outcome = () => thrown(new Error("no"));
  await world.work();
  await world.clock.advance(10 * second);
  await world.work();
  const id = await idOf("job-0");
  expect(await readJob(world.sql, id)).toMatchObject({ state: "dead", attempt: 2 });
  return id;
}

/**
 * Drops old days as after ticks up to now: a day is dropped only when the watermark of every shard
 * is past it.
 */
async function dropOldDays(): Promise<void> {
  await world.sql`update carillon.shards set watermark_at = carillon.clock()`;
  await dropPastDays(world, 30);
}

const deadJobs = () => world.sql`select n from carillon.dead_jobs`;

describe("a dead job", () => {
  test("a dead job is retried at once, with all attempts and its history kept", async () => {
    const id = await deadJob();
    expect(await deadJobs()).toHaveLength(1);
    expect(await retry(id)).toMatchObject({ state: "retrying", reason: null, attempt: 2, finishedAt: null });
    expect(await deadJobs()).toEqual([]);
    await world.work();
    expect(await readJob(world.sql, id)).toMatchObject({ state: "retrying", attempt: 3 });
    await world.clock.advance(10 * second);
    await world.work();
    expect(await readJob(world.sql, id)).toMatchObject({
      state: "dead",
      reason: "attempts",
      attempt: 4,
      attempts: [1, 2, 3, 4].map((attempt) => ({ attempt, outcome: "failed", error: "Error: no" })),
    });
    world.outcome = () => done;
    await retry(id);
    await world.work();
    expect(await readJob(world.sql, id)).toMatchObject({
      state: "succeeded",
      attempt: 5,
      startedAt: at(minute),
      durationMs: 0,
    });
    expect(
      await world.sql`select actor, subject, detail from carillon.audit where action = 'jobs.retried'`,
    ).toEqual(
      [1, 2].map(() => ({ actor: "ann", subject: "job-0", detail: { jobs: 1, job: id, reason: "fixed" } })),
    );
  });

  test("a retried job runs with the current payload, target and policy of its schedule", async () => {
    const id = await deadJob();
    await world.patch("job-0", {
      payload: "mended",
      target: { queue: null, handler: "h" },
      retry: { attempts: 1 },
      priority: "high",
    });
    world.outcome = () => done;
    world.delivered = [];
    await retry(id);
    const [parcel] = await world.sql`
      select p.queue, p.priority, t.name from carillon.parcels p join carillon.targets t on t.id = p.target_id`;
    expect(parcel).toEqual({ queue: "slow", priority: -1, name: "handler/h" });
    await world.work();
    expect(world.delivered).toMatchObject([{ payload: "mended", attempt: 3 }]);
    expect(await readJob(world.sql, id)).toMatchObject({ state: "succeeded", version: 2 });
  });

  test("a retried manual job keeps the payload of its fire", async () => {
    await world.put("report", { when: "every 1d", payload: "own", retry: { attempts: 1 } });
    const { id } = await fireNow(deps(), { key: "report", payload: "fired", caller });
    world.outcome = () => failed("no");
    await world.work();
    await world.patch("report", { payload: "other" });
    world.outcome = () => done;
    await retry(id);
    await world.work();
    expect(world.delivered.map(({ payload }) => payload)).toEqual(["fired", "fired"]);
  });

  test("a retried job of a held schedule waits for the resume", async () => {
    const id = await deadJob();
    await world.pause("job-0");
    world.delivered = [];
    world.outcome = () => done;
    expect(await retry(id)).toMatchObject({ state: "retrying", readyAt: null });
    await world.work();
    expect(world.delivered).toEqual([]);
    await world.resume("job-0");
    await world.work();
    expect(await readJob(world.sql, id)).toMatchObject({ state: "succeeded" });
  });

  test("a retried job of a schedule without overlaps waits for the run that has begun meanwhile", async () => {
    await world.put("lane", { when: "every 30s", overlap: "queue", retry: { attempts: 1 } });
    await world.tick();
    await world.clock.advance(30 * second);
    world.outcome = () => failed("no");
    await world.work();
    const [dead] = await world.jobs("lane");
    expect(dead).toMatchObject({ state: "dead" });
    const schedule = await readSchedule(world.sql, "lane");
    const id = jobId({ scheduleId: schedule?.id ?? "", occurrence: at(30 * second), kind: "cadence", n: 0 });
    await world.patch("lane", { retry: { attempts: 3, backoff: "fixed", base: "10s" } });
    await world.clock.advance(30 * second);
    await world.work();
    expect((await world.jobs("lane"))[1]).toMatchObject({ state: "waiting", attempt: 1 });
    world.outcome = () => done;
    world.delivered = [];
    await retry(id);
    await world.work();
    expect(world.delivered).toEqual([]);
    await world.clock.advance(11 * second);
    await world.work();
    expect(world.delivered.map(({ occurrence }) => occurrence)).toEqual([
      at(60 * second).toISOString(),
      at(30 * second).toISOString(),
    ]);
  });

  test("a dead job of a deleted schedule or of a dropped day is not retried", async () => {
    const id = await deadJob();
    await world.remove("job-0");
    await expect(retry(id)).rejects.toMatchObject({
      kind: "conflict",
      message: expect.stringContaining("is deleted"),
    });
    expect(await readJob(world.sql, id)).toMatchObject({ state: "dead" });
    expect(await deadJobs()).toHaveLength(1);
    await world.clock.advance(40 * day);
    await dropOldDays();
    await expect(retry(id)).rejects.toMatchObject({ kind: "missing" });
    expect(await deadJobs()).toEqual([]);
  });

  test("a retried job keeps its day from being dropped", async () => {
    const id = await deadJob();
    await world.clock.advance(40 * day);
    await world.pause("job-0");
    await retry(id);
    await dropOldDays();
    expect(await readJob(world.sql, id)).toMatchObject({ state: "retrying" });
  });
});

describe("a cancelled job", () => {
  test("a cancelled job that never started is as before once it is retried, and runs also after its deadline", async () => {
    await oneParcel(world, 1, { deadline: "1m" });
    const id = await idOf("job-0");
    await cancelJob(deps(), { id, caller });
    await world.clock.advance(hour);
    expect(await retry(id)).toMatchObject({ state: "waiting", attempt: 0, reason: null });
    await world.work();
    expect(await readJob(world.sql, id)).toMatchObject({ state: "succeeded", attempt: 1 });
  });

  test("a cancelled job in a lane that never started runs once it is retried, also after its deadline", async () => {
    await oneParcel(world, 1, { deadline: "1m", overlap: "queue" });
    const id = await idOf("job-0");
    await cancelJob(deps(), { id, caller });
    await world.clock.advance(hour);
    await retry(id);
    await world.work();
    expect(await readJob(world.sql, id)).toMatchObject({ state: "succeeded", attempt: 1 });
  });

  test("a retried job does not run before it is due", async () => {
    await world.put("soon", { when: "in 2m" });
    await world.tick();
    const id = await idOf("soon");
    await cancelJob(deps(), { id, caller });
    expect(await retry(id)).toMatchObject({ state: "waiting", readyAt: at(2 * minute) });
    await world.work();
    expect(world.delivered).toEqual([]);
    await world.clock.advance(2 * minute);
    await world.work();
    expect(world.delivered).toHaveLength(1);
  });
});

describe("a refused retry", () => {
  test("a retry of a waiting, succeeded or unknown job is refused", async () => {
    await oneParcel(world, 1);
    const id = await idOf("job-0");
    await expect(retry(id)).rejects.toThrow(
      `The job ${id} is waiting: only a dead or cancelled job can be retried.`,
    );
    await world.work();
    await expect(retry(id)).rejects.toMatchObject({ kind: "conflict" });
    await expect(retry("7-1-c0")).rejects.toMatchObject({ kind: "missing" });
  });

  test("a retry waits for a running delete, and is then refused", async () => {
    const id = await deadJob();
    const outcome = await whileEdited(world, "job-0", () => retry(id), {
      before: (tx) => tx`update carillon.schedules set deleted_at = carillon.clock() where key = 'job-0'`,
    });
    expect(outcome).toMatchObject({ status: "rejected", reason: { kind: "conflict" } });
    expect(await world.jobs()).toMatchObject([{ state: "dead" }]);
  });

  test("concurrent retries of one job are one retry", async () => {
    const id = await deadJob();
    const outcomes = await Promise.allSettled([retry(id), retry(id), retry(id)]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected", "rejected"]);
    expect(await world.sql`select from carillon.parcels`).toHaveLength(1);
    world.outcome = () => done;
    world.delivered = [];
    await world.work();
    expect(world.delivered).toHaveLength(1);
  });
});

describe("many retries together", () => {
  test("many retried jobs share parcels of their queue, with the rights of the API", async () => {
    await world.stop();
    world = await carillon({ roles: functionRoles });
    await oneParcel(world, 25, { target: { handler: "h" }, retry: { attempts: 1 } });
    world.outcome = () => failed("no");
    await world.work();
    const keys = await world.sql<{ occurrence: Date; scheduleId: string; kind: "cadence"; n: number }[]>`
      select occurrence, schedule_id as "scheduleId", kind, n from carillon.dead_jobs order by schedule_id`;
    expect(keys).toHaveLength(25);
    const { api, ...others } = await functionRoles(world.sql, world.databaseUrl);
    const missing = { occurrence: at(0), scheduleId: "99999", kind: "cadence" as const, n: 0 };
    const outcomes = await retryJobs(
      { sql: api, queue: world.queue },
      [...keys, missing].map((key) => ({ key, afterMs: 0 })),
      { caller, detail: {} },
    );
    expect([...outcomes.values()].filter((each) => each === "retried")).toHaveLength(25);
    expect(outcomes.get(jobId(missing))).toBe("missing");
    expect(
      await world.sql`select cardinality(occurrences) as jobs, owed from carillon.parcels order by jobs`,
    ).toEqual([5, 10, 10].map((jobs) => ({ jobs, owed: true })));
    world.outcome = () => done;
    await world.work();
    expect(new Set((await world.jobs()).map(({ state }) => state))).toEqual(new Set(["succeeded"]));
    for (const sql of [api, ...Object.values(others)]) await sql.end();
  });
});
