import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { jobId } from "../../lib/job/job-id.ts";
import { readJob } from "../../lib/job/read-job.ts";
import { type ClaimedParcel, claimParcel } from "../../lib/parcel/claim.ts";
import { type Settlement, settleParcel } from "../../lib/parcel/settle.ts";
import { settleInside } from "../../lib/parcel/settle-inside.ts";
import { sweep } from "../../lib/parcel/sweep.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";
import { due, oneParcel } from "../support/parcels.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

async function claimed(id: string): Promise<ClaimedParcel> {
  const parcel = await claimParcel(world.sql, id, 30 * second);
  if (parcel.outcome !== "claimed") throw new Error(`The parcel is ${parcel.outcome}.`);
  return parcel;
}

const succeeded: Settlement = { kind: "succeeded" };
const retry = (afterMs: number): Settlement => ({ kind: "retry", afterMs, error: "no" });
const parcels = () => world.sql`
  select id, ready_at, offer_at, fence, lease_until, cardinality(occurrences) as jobs from carillon.parcels order by ready_at, id`;
const attempts = () =>
  world.sql`select attempt, outcome, error, started_at, finished_at from carillon.attempts order by attempt`;

describe("a settlement", () => {
  test("a settle writes that all jobs succeeded and deletes the parcel", async () => {
    const parcel = await claimed(await oneParcel(world, 3));
    await world.clock.advance(2 * second);
    expect(await settleParcel(world.sql, parcel, [succeeded, succeeded, succeeded])).toEqual({
      held: true,
      outgoing: [],
    });
    const done = {
      state: "succeeded",
      attempt: 1,
      startedAt: due,
      finishedAt: at(minute + 2 * second),
      readyAt: null,
    };
    expect(await world.jobs()).toMatchObject([done, done, done]);
    expect(await parcels()).toEqual([]);
    expect(await attempts()).toEqual([]);
  });

  test("a settle writes one row of counts, however many of its jobs fail", async () => {
    const parcel = await claimed(await oneParcel(world, 4));
    await world.tick();
    const dead: Settlement = { kind: "dead", error: "broken" };
    await settleParcel(world.sql, parcel, [succeeded, retry(second), retry(second), dead]);
    expect(await world.sql`select succeeded, failed, dead, late_jobs as late from carillon.tallies`).toEqual([
      { succeeded: 1, failed: 3, dead: 1, late: [4] },
    ]);
  });

  test("a settle writes no row of counts for jobs that are handed back", async () => {
    const parcel = await claimed(await oneParcel(world, 2));
    await world.tick();
    await settleParcel(world.sql, parcel, [{ kind: "back" }, { kind: "back" }]);
    expect(await world.sql`select from carillon.tallies`).toEqual([]);
  });

  test("a settle writes each outcome", async () => {
    const parcel = await claimed(await oneParcel(world, 5));
    await world.clock.advance(second);
    const outcomes: Settlement[] = [
      succeeded,
      retry(10 * second),
      { kind: "dead", error: "broken" },
      { kind: "back" },
      retry(10 * second),
    ];
    const { held, outgoing } = await settleParcel(world.sql, parcel, outcomes);
    expect(held).toBe(true);
    expect(await world.jobs()).toMatchObject([
      { state: "succeeded", attempt: 1, error: null },
      {
        state: "waiting",
        attempt: 1,
        error: "no",
        readyAt: at(minute + 11 * second),
        startedAt: due,
        finishedAt: null,
      },
      {
        state: "dead",
        attempt: 1,
        reason: "attempts",
        error: "broken",
        finishedAt: at(minute + second),
        parcelId: null,
      },
      { state: "waiting", attempt: 0, error: null, readyAt: at(minute + second), startedAt: null },
      { state: "waiting", attempt: 1, readyAt: at(minute + 11 * second) },
    ]);
    const made = await parcels();
    expect(made).toMatchObject([
      { ready_at: at(minute + second), jobs: 1, fence: 0, lease_until: null },
      { ready_at: at(minute + 11 * second), jobs: 2 },
    ]);
    const waits = outgoing
      .map(({ id, queue, waitMs }) => ({ id, queue, waitMs }))
      .sort((a, b) => a.waitMs - b.waitMs);
    expect(waits).toEqual([
      { id: made[0]?.["id"], queue: "fast", waitMs: 0 },
      { id: made[1]?.["id"], queue: "fast", waitMs: 10_000 },
    ]);
    expect(await attempts()).toEqual([
      { attempt: 1, outcome: "failed", error: "no", started_at: due, finished_at: at(minute + second) },
      { attempt: 1, outcome: "failed", error: "broken", started_at: due, finished_at: at(minute + second) },
      { attempt: 1, outcome: "failed", error: "no", started_at: due, finished_at: at(minute + second) },
    ]);
  });

  test("a settle packs retries by the second in which they may start, and none starts early", async () => {
    const parcel = await claimed(await oneParcel(world, 4));
    await settleParcel(world.sql, parcel, [1_100, 1_900, 2_000, 2_100].map(retry));
    expect(await parcels()).toMatchObject([
      { ready_at: at(minute + 1_900), jobs: 2 },
      { ready_at: at(minute + 2_100), jobs: 2 },
    ]);
  });

  test("a settle by a worker whose lease was taken over writes nothing", async () => {
    const id = await oneParcel(world, 1);
    const stale = await claimed(id);
    await world.clock.advance(31 * second);
    await sweep(world.sql, world.log);
    const fresh = await claimed(id);
    expect(fresh.fence).toBeGreaterThan(stale.fence);
    for (const outcome of [succeeded, retry(1), { kind: "dead", error: "no" } as const])
      expect(await settleParcel(world.sql, stale, [outcome])).toEqual({ held: false, outgoing: [] });
    expect(await world.jobs()).toMatchObject([{ state: "waiting", parcelId: id }]);
    expect((await settleParcel(world.sql, fresh, [succeeded])).held).toBe(true);
    expect((await settleParcel(world.sql, fresh, [retry(1)])).held).toBe(false);
    expect(await world.jobs()).toMatchObject([{ state: "succeeded", attempt: 2 }]);
  });

  test("a settle inside a handler's transaction makes the end of the lease wait for the handler's commit", async () => {
    const parcel = await claimed(await oneParcel(world, 1));
    const [job] = parcel.jobs;
    if (job === undefined) throw new Error("The parcel is empty.");
    await world.sql.begin(async (tx) => {
      expect(
        await settleInside(tx, parcel, job, { kind: "done" }, { notify: [], startedMs: 0 }),
      ).toMatchObject({ held: true });
      // Otherwise the job would come back to another worker, and then the handler's commit would
      // mark it as done.
      expect(await world.sql`select id from carillon.parcels for update skip locked`).toEqual([]);
    });
    expect(await world.sql`select id from carillon.parcels for update skip locked`).toHaveLength(1);
  });

  test("a settle after a lease that ended, but was not taken over, counts", async () => {
    const parcel = await claimed(await oneParcel(world, 2));
    await world.clock.advance(minute);
    expect((await settleParcel(world.sql, parcel, [succeeded, succeeded])).held).toBe(true);
  });

  test("a settle records the version that ran, if the schedule was edited between plan and claim", async () => {
    const id = await oneParcel(world, 2);
    await world.patch("job-0", { payload: "edited" });
    await world.pause("job-1");
    await world.resume("job-1");
    await world.work();
    expect(world.delivered.map(({ payload }) => payload).sort()).toEqual([1, "edited"]);
    expect(await world.jobs()).toMatchObject([
      { key: "job-0", version: 2, state: "succeeded" },
      { key: "job-1", version: 1, state: "succeeded" },
    ]);
    expect(id).toBeDefined();
  });

  test("a settle leaves out a job that is no longer in the parcel", async () => {
    const id = await oneParcel(world, 2);
    const parcel = await claimed(id);
    await world.sql`update carillon.jobs set parcel_id = 999 where schedule_id = ${parcel.jobs[0]?.scheduleId ?? ""}`;
    await settleParcel(world.sql, parcel, [retry(1), retry(1)]);
    expect(await world.jobs()).toMatchObject([
      { state: "waiting", attempt: 0, parcelId: "999" },
      { attempt: 1 },
    ]);
  });

  test("every attempt of a job that did not succeed at the first is kept, and no error once it has succeeded", async () => {
    await oneParcel(world, 1);
    for (const outcome of [retry(second), retry(second), succeeded]) {
      const [job] = await world.jobs();
      await settleParcel(world.sql, await claimed(job?.parcelId ?? ""), [outcome]);
      await world.clock.advance(second);
    }
    expect(await attempts()).toMatchObject([
      { attempt: 1, outcome: "failed", error: "no" },
      { attempt: 2, outcome: "failed", error: "no" },
      { attempt: 3, outcome: "succeeded", error: null },
    ]);
    const [job] = await world.jobs();
    expect(job).toMatchObject({ state: "succeeded", attempt: 3, error: null, startedAt: due });
  });

  test("a job that succeeded at the first attempt has no row of attempts", async () => {
    const parcel = await claimed(await oneParcel(world, 1));
    await world.clock.advance(second);
    await settleParcel(world.sql, parcel, [succeeded]);
    const [job] = parcel.jobs;
    if (job === undefined) throw new Error("Nothing was claimed.");
    expect(await readJob(world.sql, jobId(job))).toMatchObject({
      state: "succeeded",
      latenessMs: 0,
      attempts: [
        { attempt: 1, outcome: "succeeded", startedAt: due, finishedAt: at(minute + second), error: null },
      ],
    });
  });
});
