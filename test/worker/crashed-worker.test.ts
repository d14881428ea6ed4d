import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { jobId } from "../../lib/job/job-id.ts";
import { readJob } from "../../lib/job/read-job.ts";
import { type ClaimedParcel, claimParcel } from "../../lib/parcel/claim.ts";
import { thrown } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute, second } from "../support/instants.ts";
import { oneParcel } from "../support/parcels.ts";

/** The worker claims a parcel and then dies. A tick runs at each full minute, as in production. */
let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const leaseMs = 30 * second;

/**
 * Jobs of one parcel that are due with the tick at `due`; the worker takes it this many seconds
 * later, and dies.
 */
async function claimAndDie(jobs: number, afterSeconds: number, body: object = {}): Promise<ClaimedParcel> {
  const id = await oneParcel(world, jobs, { target: { handler: "slow" }, ...body });
  await world.tick();
  await world.clock.advance(afterSeconds * second);
  const claim = await claimParcel(world.sql, id, leaseMs);
  if (claim.outcome !== "claimed") throw new Error(`The parcel is ${claim.outcome}.`);
  // Its message was taken, and would come back when its visibility timeout ends.
  world.queue.take("slow");
  return claim;
}

/** Advances second by second, with a tick each minute, and works every message when it arrives. */
async function live(forMs: number): Promise<void> {
  const until = world.clock.now().getTime() + forMs;
  while (world.clock.now().getTime() < until) {
    await world.clock.advance(second);
    if (world.clock.now().getTime() % minute === 0) await world.tick();
    await world.work();
  }
}

describe.each([1, 20, 31, 45, 59])("a worker that dies %i seconds after a tick", (dies) => {
  test("jobs of a dead worker run again within a minute of their lease's end, each alone", async () => {
    await claimAndDie(3, dies);
    const leaseEnds = world.clock.now().getTime() + leaseMs;
    let together = 0;
    world.outcome = async () => {
      const [row] = await world.sql<{ most: number }[]>`
        select max(cardinality(occurrences)) as most from carillon.parcels where lease_until is not null`;
      together = Math.max(together, row?.most ?? 0);
      return { kind: "done" };
    };
    await live(leaseMs + minute);
    expect(world.delivered).toHaveLength(3);
    for (const { at: started } of world.delivered) {
      expect(new Date(started).getTime()).toBeGreaterThan(leaseEnds);
      expect(new Date(started).getTime()).toBeLessThanOrEqual(leaseEnds + minute);
    }
    expect(together).toBe(1);
    // Which of them had started is unknown: none is charged an attempt.
    expect(await world.jobs()).toMatchObject([
      { state: "succeeded", attempt: 1 },
      { state: "succeeded", attempt: 1 },
      { state: "succeeded", attempt: 1 },
    ]);
  });
});

test("if the worker of a single job dies, an attempt is counted, and recorded with the reason", async () => {
  const { jobs, claimedAt } = await claimAndDie(1, 10);
  const [job] = jobs;
  if (job === undefined) throw new Error("Nothing was claimed.");
  await live(leaseMs + minute);
  const died = new Date(claimedAt.getTime() + leaseMs);
  expect(await readJob(world.sql, jobId(job))).toMatchObject({
    state: "succeeded",
    attempt: 2,
    startedAt: claimedAt,
    attempts: [
      { attempt: 1, outcome: "crashed", startedAt: claimedAt, finishedAt: died },
      { attempt: 2, outcome: "succeeded" },
    ],
  });
});

test("a job that kills every worker is dead after its attempts, and takes no other with it", async () => {
  await claimAndDie(2, 10, { retry: { attempts: 2 } });
  world.outcome = ({ key }) => {
    if (key === "job-1") throw new Error("The process is gone.");
    return { kind: "done" };
  };
  await live(10 * minute);
  const states = (await world.jobs()).map(({ key, state, attempt, reason }) => ({
    key,
    state,
    attempt,
    reason,
  }));
  expect(states).toEqual([
    { key: "job-0", state: "succeeded", attempt: 1, reason: null },
    { key: "job-1", state: "dead", attempt: 2, reason: "attempts" },
  ]);
});

test("a crash at the last attempt ends the attempt and the job with the lease, however late it is found", async () => {
  const { claimedAt } = await claimAndDie(1, 0, { retry: { attempts: 1 } });
  await world.clock.advance(10 * minute);
  await world.tick();
  const finishedAt = new Date(claimedAt.getTime() + leaseMs);
  expect(await readOnly()).toMatchObject({
    state: "dead",
    finishedAt,
    attempts: [{ outcome: "crashed", finishedAt }],
  });
});

test("an error of a handler that is named as a crash is a failed attempt", async () => {
  await oneParcel(world, 1, { target: { handler: "slow" }, retry: { attempts: 1 } });
  world.outcome = () => thrown(Object.assign(new Error("no"), { name: "LeaseEnded" }));
  await world.work();
  expect(await readOnly()).toMatchObject({ state: "dead", attempts: [{ outcome: "failed" }] });
});

async function readOnly() {
  const [job] = await world.sql<Parameters<typeof jobId>[0][]>`
    select schedule_id as "scheduleId", occurrence, kind, n from carillon.jobs`;
  return job === undefined ? null : readJob(world.sql, jobId(job));
}
