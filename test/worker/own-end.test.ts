import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { defineJob } from "../../lib/job/define-job.ts";
import { jobId } from "../../lib/job/job-id.ts";
import { readJob } from "../../lib/job/read-job.ts";
import { dueOnce } from "../parcel/limit-world.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { workWithHandlers } from "../support/handlers-at-work.ts";
import { at, minute, second } from "../support/instants.ts";

/** A job's times are its own, whatever its neighbours in the parcel do. */

const quickJobs = 22;
let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

/** One job of 20 seconds and 22 of 100 ms in one parcel of ten places. The quick job 001 fails. */
async function workMixed(): Promise<void> {
  const retry = { base: "30s", backoff: "fixed", jitter: "none" };
  await dueOnce(world, "mixed", quickJobs + 1, { target: { handler: "mixed" }, retry });
  await world.sql`update carillon.targets set cost_ms = 100`;
  await world.tick();
  expect(await world.sql`select cardinality(occurrences) as jobs from carillon.parcels`).toEqual([
    { jobs: quickJobs + 1 },
  ]);
  await world.clock.setNow(at(minute));
  await workWithHandlers(world, (sleep) => [
    defineJob({
      name: "mixed",
      payload: z.unknown(),
      run: async ({ key }) => {
        await sleep(key === "mixed-000" ? 20 * second : 100);
        if (key === "mixed-001") throw new Error("no");
      },
    }),
  ]);
}

async function readNamed(key: string) {
  const [row] = await world.sql<{ id: string }[]>`select id from carillon.schedules where key = ${key}`;
  const id = jobId({ scheduleId: row?.id ?? "", occurrence: at(minute), kind: "cadence", n: 0 });
  const job = await readJob(world.sql, id);
  if (job === null) throw new Error(`There is no job of ${key}.`);
  return job;
}

test("a job of 100 ms reads 100 ms, although a neighbour in its parcel took 20 s", async () => {
  await workMixed();
  const jobs = await world.sql<{ key: string; ms: number }[]>`
    select s.key, (extract(epoch from j.finished_at - j.started_at) * 1000)::int as ms
    from carillon.jobs j join carillon.schedules s on s.id = j.schedule_id where j.state = 'succeeded' order by ms, s.key`;
  const ends = Map.groupBy(jobs, ({ ms }) => ms);
  // Nine places beside the slow job: the quick jobs run in three rounds, the failed one in the first.
  expect([...ends].map(([ms, own]) => [ms, own.length])).toEqual([
    [100, 8],
    [200, 9],
    [300, 4],
    [20 * second, 1],
  ]);
  for (const { key, ms } of jobs) {
    const { durationMs, startedAt, finishedAt, attempts } = await readNamed(key);
    expect(durationMs).toBe(key === "mixed-000" ? 20 * second : 100);
    expect([startedAt, finishedAt]).toEqual([at(minute), at(minute + ms)]);
    expect(attempts).toMatchObject([
      {
        claimedAt: at(minute),
        targetStartedAt: at(minute + ms - (durationMs ?? 0)),
        targetEndedAt: at(minute + ms),
        settledAt: at(minute + 20 * second),
      },
    ]);
  }
});

test("the backoff of a failed job counts from its own end, not from the settle of its parcel", async () => {
  await workMixed();
  const failed = await readNamed("mixed-001");
  expect(failed).toMatchObject({
    state: "retrying",
    readyAt: at(minute + 100 + 30 * second),
    attempts: [{ durationMs: 100, finishedAt: at(minute + 100), settledAt: at(minute + 20 * second) }],
    current: { plannedAt: at(minute + 20 * second), claimedAt: null },
  });
});

test("the attempts of a retried job have their own times, and the job took as long as its last one", async () => {
  await workMixed();
  await world.clock.setNow(at(minute + 31 * second));
  await workWithHandlers(world, (sleep) => [
    defineJob({ name: "mixed", payload: z.unknown(), run: () => sleep(200) }),
  ]);
  expect(await readNamed("mixed-001")).toMatchObject({
    state: "succeeded",
    startedAt: at(minute),
    finishedAt: at(minute + 31_200),
    durationMs: 200,
    current: null,
    attempts: [
      { attempt: 1, plannedAt: at(0), sentAt: at(0), durationMs: 100 },
      {
        attempt: 2,
        plannedAt: at(minute + 20 * second),
        sentAt: at(minute + 20 * second),
        claimedAt: at(minute + 31 * second),
        targetStartedAt: at(minute + 31 * second),
        targetEndedAt: at(minute + 31_200),
        settledAt: at(minute + 31_200),
        durationMs: 200,
      },
    ],
  });
});
