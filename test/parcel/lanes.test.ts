import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { lockLane } from "../../lib/db/locks.ts";
import { jobId } from "../../lib/job/job-id.ts";
import { readJob } from "../../lib/job/read-job.ts";
import { type Claimed, type ClaimedParcel, claimParcel } from "../../lib/parcel/claim.ts";
import { handOver } from "../../lib/parcel/hand-over.ts";
import { type Settlement, settleParcel } from "../../lib/parcel/settle.ts";
import { sweep } from "../../lib/parcel/sweep.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";
import { until } from "../support/until.ts";
import { waitingLocks } from "../support/waiting-locks.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const lease = 30 * second;
const step = 10 * second;

/**
 * Makes the jobs of three minutes of a schedule that is due every ten seconds, and sets the clock
 * to when this number of them is due.
 */
async function dueJobs(count: number, body: object): Promise<void> {
  await world.put("s", { when: "every 10s", ...body });
  await world.tick();
  world.queue.messages = [];
  await world.clock.setNow(at(count * step));
}

/** The job of the n-th occurrence, from 1. */
async function job(n: number, key = "s") {
  const found = (await world.jobs(key)).find(
    ({ occurrence }) => occurrence.getTime() === at(n * step).getTime(),
  );
  if (found === undefined) throw new Error(`There is no job ${n}.`);
  return found;
}

async function claim(n: number): Promise<Claimed> {
  return claimParcel(world.sql, (await job(n)).parcelId ?? "0", lease);
}

async function claimed(n: number): Promise<ClaimedParcel> {
  const parcel = await claim(n);
  if (parcel.outcome !== "claimed") throw new Error(`The parcel is ${parcel.outcome}.`);
  return parcel;
}

const settle = (parcel: ClaimedParcel, settlement: Settlement = { kind: "succeeded" }) =>
  settleParcel(
    world.sql,
    parcel,
    parcel.jobs.map(() => settlement),
  );

/** The states of the first jobs. */
const states = async (count: number) =>
  (await world.jobs("s"))
    .slice(0, count)
    .map(({ state, reason }) => (reason === null ? state : `${state}: ${reason}`));

const entries = () =>
  world.sql`select occurrence, entered from carillon.lane_entries where due_at <= carillon.clock() order by due_at`;

async function sweepOnce() {
  const swept = await sweep(world.sql, world.log);
  await handOver(world.sql, world.queue, swept.outgoing);
  return swept.outgoing.map(({ id }) => id);
}

describe("a deadline", () => {
  test("a job that would start later than its deadline after its due time is skipped, and no other of the parcel is", async () => {
    const when = `at ${at(minute).toISOString()}`;
    await world.put("strict", { when, deadline: "10s" });
    await world.put("patient", { when, deadline: "11s" });
    await world.put("plain", { when });
    await world.sql`update carillon.schedules set shard = 0`;
    await world.sql`update carillon.plan set shard = 0`;
    await world.tick();
    await world.clock.setNow(at(minute + 10 * second + 1));
    await world.work();
    expect(world.delivered.map(({ key }) => key).sort()).toEqual(["patient", "plain"]);
    expect(await world.jobs("strict")).toMatchObject([
      {
        state: "skipped",
        reason: "late",
        attempt: 0,
        startedAt: null,
        finishedAt: at(minute + 10 * second + 1),
      },
    ]);
    expect(await world.sql`select from carillon.parcels`).toEqual([]);
  });

  test("a start at the very millisecond of the deadline is in time", async () => {
    await dueJobs(1, { deadline: "5s" });
    await world.clock.advance(5 * second);
    expect((await claimed(1)).jobs).toHaveLength(1);
  });

  test("a deadline does not apply to a job that has started before", async () => {
    await dueJobs(1, { deadline: "5s" });
    await settle(await claimed(1), { kind: "retry", afterMs: minute, error: "no" });
    await world.clock.advance(minute);
    expect((await claimed(1)).jobs).toMatchObject([{ attempt: 1 }]);
  });

  test("a job whose deadline passes under a hold is skipped after the hold", async () => {
    await dueJobs(1, { deadline: "5s" });
    await world.pause("s");
    expect(await claim(1)).toMatchObject({ outcome: "empty" });
    await world.clock.advance(minute);
    await world.resume("s");
    expect(await claim(1)).toMatchObject({ outcome: "empty" });
    expect(await states(1)).toEqual(["skipped: late"]);
  });

  test("a deadline does not apply to a manual job", async () => {
    await dueJobs(1, { deadline: "5s", overlap: "skip" });
    const { parcelId } = await job(1);
    await world.sql`update carillon.jobs set kind = 'manual' where parcel_id = ${parcelId}`;
    await world.sql`update carillon.parcels set kinds = '{manual}', ns = '{0}' where id = ${parcelId}`;
    await world.clock.advance(minute);
    expect((await claimed(1)).jobs).toMatchObject([{ kind: "manual" }]);
  });
});

describe("overlap: skip", () => {
  test("`overlap: skip` skips a job while an earlier one is not settled, and lets it run afterwards", async () => {
    await dueJobs(3, { overlap: "skip" });
    const first = await claimed(1);
    expect(await claim(2)).toMatchObject({ outcome: "empty" });
    await settle(first);
    expect((await claimed(3)).jobs).toHaveLength(1);
    expect(await states(3)).toEqual(["succeeded", "skipped: overlap", "waiting"]);
    expect(await entries()).toEqual([{ occurrence: at(3 * step), entered: true }]);
  });

  test("`overlap: skip` counts an earlier job that is unclaimed, in any order of the messages", async () => {
    await dueJobs(2, { overlap: "skip" });
    expect(await claim(2)).toMatchObject({ outcome: "empty" });
    expect((await claimed(1)).jobs).toHaveLength(1);
    expect(await states(2)).toEqual(["waiting", "skipped: overlap"]);
  });

  test("`overlap: skip` counts a job that waits for a retry, and never skips that job", async () => {
    await dueJobs(3, { overlap: "skip" });
    await settle(await claimed(1), { kind: "retry", afterMs: 1, error: "no" });
    expect(await claim(2)).toMatchObject({ outcome: "empty" });
    await world.clock.advance(1);
    await settle(await claimed(1), { kind: "dead", error: "no" });
    expect((await claimed(3)).jobs).toHaveLength(1);
    expect(await states(3)).toEqual(["dead: attempts", "skipped: overlap", "waiting"]);
  });

  test("`overlap: skip` skips no job because of another schedule's job", async () => {
    for (const key of ["a", "b"]) await world.put(key, { when: "every 10s", overlap: "skip" });
    await world.tick();
    await world.clock.setNow(at(step));
    await world.work();
    expect(world.delivered.map(({ key }) => key).sort()).toEqual(["a", "b"]);
  });
});

describe("overlap: queue", () => {
  test("`overlap: queue` lets jobs run one after the other, each handed over by the settle before it", async () => {
    await dueJobs(3, { overlap: "queue" });
    const first = await claimed(1);
    expect(await claim(2)).toMatchObject({ outcome: "empty" });
    expect(await claim(3)).toMatchObject({ outcome: "empty" });
    expect(await states(3)).toEqual(["waiting", "waiting", "waiting"]);
    const { outgoing } = await settle(first);
    const { parcelId } = await job(2);
    expect(outgoing).toEqual([{ id: parcelId, queue: "fast", waitMs: 0 }]);
    const second = await claimed(2);
    expect(await claim(3)).toMatchObject({ outcome: "held" });
    expect((await settle(second)).outgoing).toMatchObject([{ id: (await job(3)).parcelId }]);
    expect((await settle(await claimed(3))).outgoing).toEqual([]);
    expect(await entries()).toEqual([]);
    expect(await states(3)).toEqual(["succeeded", "succeeded", "succeeded"]);
  });

  test("`overlap: queue` keeps the order of occurrences in any order of the messages", async () => {
    await dueJobs(5, { overlap: "queue" });
    for (const n of [4, 2, 5, 3]) expect(await claim(n)).toMatchObject({ outcome: "empty" });
    await handOver(world.sql, world.queue, [{ id: (await job(1)).parcelId ?? "", queue: "fast", waitMs: 0 }]);
    await world.work();
    expect(world.delivered.map(({ occurrence }) => occurrence)).toEqual(
      [1, 2, 3, 4, 5].map((n) => at(n * step).toISOString()),
    );
  });

  test("`overlap: queue` keeps the place of a job that is to be retried, and of one that is handed back", async () => {
    await dueJobs(2, { overlap: "queue" });
    expect(
      (await settle(await claimed(1), { kind: "retry", afterMs: second, error: "no" })).outgoing,
    ).toHaveLength(1);
    expect(await claim(2)).toMatchObject({ outcome: "empty" });
    await world.clock.advance(second);
    await settle(await claimed(1), { kind: "back" });
    expect((await settle(await claimed(1), { kind: "dead", error: "no" })).outgoing).toMatchObject([
      { id: (await job(2)).parcelId },
    ]);
  });

  test("a job that waits for its turn is shown as waiting, without a time at which it is ready", async () => {
    await dueJobs(2, { overlap: "queue" });
    const first = await claimed(1);
    await claim(2);
    const id = jobId({
      ...(first.jobs[0] ?? { scheduleId: "", kind: "cadence", n: 0 }),
      occurrence: at(2 * step),
    });
    expect(await readJob(world.sql, id)).toMatchObject({ state: "waiting", readyAt: null, reason: null });
    await settle(first);
    expect(await readJob(world.sql, id)).toMatchObject({ state: "waiting", readyAt: at(2 * step) });
  });

  test("a claim skips all jobs in its lane that became late while they waited, and lets the first that is in time start", async () => {
    await dueJobs(5, { overlap: "queue", deadline: "25s" });
    await world.clock.setNow(at(2 * step));
    const first = await claimed(1);
    expect(await claim(2)).toMatchObject({ outcome: "empty" });
    await world.clock.setNow(at(3 * step));
    expect(await claim(3)).toMatchObject({ outcome: "empty" });
    await world.clock.setNow(at(5 * step));
    for (const n of [4, 5]) expect(await claim(n)).toMatchObject({ outcome: "empty" });
    await world.clock.setNow(at(6 * step));
    const { outgoing } = await settle(first);
    expect(outgoing).toHaveLength(1);
    const handedOver = await claimParcel(world.sql, outgoing[0]?.id ?? "", lease);
    expect(handedOver).toEqual({
      outcome: "empty",
      waitMs: 0,
      freed: [{ id: (await job(4)).parcelId, queue: "fast", waitMs: 0 }],
    });
    expect(await states(5)).toEqual(["succeeded", "skipped: late", "skipped: late", "waiting", "waiting"]);
    expect((await claimed(4)).jobs).toHaveLength(1);
  });

  test("a job that a worker's claim releases is handed over at once, not at the next sweep", async () => {
    await dueJobs(3, { overlap: "queue", deadline: "25s" });
    const first = await claimed(1);
    for (const n of [2, 3]) await claim(n);
    await world.clock.setNow(at(50 * second));
    await handOver(world.sql, world.queue, (await settle(first)).outgoing);
    await world.work();
    expect(world.delivered.map(({ occurrence }) => occurrence)).toEqual([at(3 * step).toISOString()]);
  });

  test("`overlap: queue` does not apply to manual jobs", async () => {
    await dueJobs(2, { overlap: "queue" });
    await claimed(1);
    const { parcelId } = await job(2);
    await world.sql`update carillon.jobs set kind = 'manual' where parcel_id = ${parcelId}`;
    await world.sql`update carillon.parcels set kinds = '{manual}', ns = '{0}' where id = ${parcelId}`;
    expect((await claimed(2)).jobs).toMatchObject([{ kind: "manual" }]);
  });

  test("a job that was withdrawn does not keep others waiting", async () => {
    await dueJobs(1, { overlap: "queue" });
    await world.put("s", { when: `at ${at(2 * step).toISOString()}`, overlap: "queue" });
    await settle(await claimed(1));
    await world.clock.setNow(at(2 * step));
    await settle(await claimed(2));
    expect(await world.sql`select from carillon.lane_entries`).toEqual([]);
  });
});

describe("a crash in a lane", () => {
  test("after a crash a job that was alone keeps its place, and is retried before the next", async () => {
    await dueJobs(2, { overlap: "queue", retry: { attempts: 2 } });
    await claimed(1);
    await claim(2);
    await world.clock.advance(lease + 1);
    expect(await sweepOnce()).toContain((await job(1)).parcelId);
    expect(await claim(2)).toMatchObject({ outcome: "held" });
    expect((await claimed(1)).jobs).toMatchObject([{ attempt: 1 }]);
  });

  test("a crash in the last attempt hands the lane over", async () => {
    await dueJobs(2, { overlap: "queue", retry: { attempts: 1 } });
    await claimed(1);
    await claim(2);
    await world.clock.advance(lease + 1);
    expect(await sweepOnce()).toContain((await job(2)).parcelId);
    expect(await states(2)).toEqual(["dead: attempts", "waiting"]);
    expect((await claimed(2)).jobs).toHaveLength(1);
  });

  test("if a worker dies between a settle and the message for the next job of the lane, the sweep sends that job", async () => {
    await dueJobs(2, { overlap: "queue" });
    const first = await claimed(1);
    await claim(2);
    await settle(first);
    await world.clock.advance(20 * second);
    expect(await sweepOnce()).toContain((await job(2)).parcelId);
  });

  test("if a job waits in a lane with no job before it, for whatever cause, the sweep sends it within a minute", async () => {
    await dueJobs(2, { overlap: "queue" });
    const first = await claimed(1);
    await claim(2);
    const { parcelId } = await job(2);
    await world.sql`delete from carillon.parcels where id = ${first.id}`;
    await world.sql`update carillon.jobs set state = 'cancelled', parcel_id = null, finished_at = carillon.clock() where occurrence = ${at(step)}`;
    await world.clock.advance(minute - 1);
    expect(await sweepOnce()).not.toContain(parcelId);
    await world.clock.advance(1);
    expect(await sweepOnce()).toContain(parcelId);
    expect((await claimed(2)).jobs).toHaveLength(1);
  });

  test("a job that waits for long is read less and less often by the sweep", async () => {
    await dueJobs(2, { overlap: "queue" });
    const first = await claimed(1);
    await claim(2);
    await world.sql`update carillon.parcels set offer_at = 'infinity', lease_until = '2099-01-01' where id = ${first.id}`;
    const looked: number[] = [];
    for (let passed = 0; passed <= 40; passed++) {
      await world.clock.setNow(at(2 * step + passed * minute));
      const [before] = await world.sql<
        { offers: number }[]
      >`select offers from carillon.parcels where lane is not null`;
      await sweep(world.sql, world.log);
      const [after] = await world.sql<
        { offers: number }[]
      >`select offers from carillon.parcels where lane is not null`;
      if (before?.offers !== after?.offers) looked.push(passed);
    }
    expect(looked).toEqual([1, 2, 4, 8, 16, 32]);
  });
});

describe("an edit", () => {
  test("an edit that allows overlaps releases all waiting jobs at once", async () => {
    await dueJobs(4, { overlap: "queue" });
    await claimed(1);
    for (const n of [2, 3, 4]) await claim(n);
    world.queue.messages = [];
    await world.patch("s", { overlap: "allow" });
    await world.work();
    expect(world.delivered).toHaveLength(3);
    expect(await world.sql`select from carillon.lane_entries`).toEqual([]);
  });

  test("after an edit from `overlap: queue` to `skip`, claims skip the jobs that waited", async () => {
    await dueJobs(3, { overlap: "queue" });
    const first = await claimed(1);
    for (const n of [2, 3]) await claim(n);
    await world.patch("s", { overlap: "skip" });
    await world.work();
    expect(await states(3)).toEqual(["waiting", "skipped: overlap", "skipped: overlap"]);
    expect((await settle(first)).outgoing).toEqual([]);
  });

  test("after an edit that forbids overlaps, running jobs come to their end first, and the others then run in due order", async () => {
    await dueJobs(5, {});
    const [running, alsoRunning] = [await claimed(2), await claimed(3)];
    await settle(await claimed(1), { kind: "retry", afterMs: second, error: "no" });
    await world.patch("s", { overlap: "queue" });
    await world.clock.advance(second);
    for (const n of [5, 4, 1]) expect(await claim(n)).toMatchObject({ outcome: "empty" });
    // Both were running; the first of them to come back waits for the other, and no other job
    // starts before they are done.
    expect((await settle(running, { kind: "retry", afterMs: 0, error: "no" })).outgoing).toHaveLength(1);
    expect(await claim(2)).toMatchObject({ outcome: "empty", freed: [] });
    expect((await settle(alsoRunning)).outgoing).toMatchObject([{ id: (await job(2)).parcelId }]);
    expect((await settle(await claimed(2))).outgoing).toMatchObject([{ id: (await job(1)).parcelId }]);
    expect((await settle(await claimed(1))).outgoing).toMatchObject([{ id: (await job(4)).parcelId }]);
    expect((await settle(await claimed(4))).outgoing).toMatchObject([{ id: (await job(5)).parcelId }]);
  });

  test("an edit that leaves the overlap rule unchanged releases no waiting job", async () => {
    await dueJobs(2, { overlap: "queue" });
    const first = await claimed(1);
    await claim(2);
    world.queue.messages = [];
    await world.patch("s", { payload: "edited" });
    const { parcelId } = await job(2);
    expect(await claimParcel(world.sql, parcelId ?? "", lease)).toMatchObject({ outcome: "held" });
    expect((await settle(first)).outgoing).toMatchObject([{ id: parcelId }]);
    expect((await claimed(2)).jobs).toMatchObject([{ payload: "edited" }]);
  });

  test("an edit to a target of the other queue applies to a waiting job when its turn comes", async () => {
    await dueJobs(2, { overlap: "queue" });
    const first = await claimed(1);
    await claim(2);
    await world.patch("s", { target: { queue: null, handler: "greet" } });
    await settle(first);
    expect(await claim(2)).toMatchObject({ outcome: "empty" });
    await world.clock.advance(minute);
    await sweepOnce();
    expect((await claimed(2)).jobs).toMatchObject([{ target: { handler: "greet" } }]);
  });

  test("a delete cancels the jobs that wait in the lane, and lets the running job end", async () => {
    await dueJobs(3, { overlap: "queue" });
    const first = await claimed(1);
    for (const n of [2, 3]) await claim(n);
    await world.remove("s");
    expect((await settle(first)).outgoing).toEqual([]);
    expect(await states(3)).toEqual(["succeeded", "cancelled: deleted", "cancelled: deleted"]);
    expect(await world.sql`select from carillon.lane_entries`).toEqual([]);
    expect(await world.sql`select from carillon.parcels where lane is not null`).toEqual([]);
  });

  test("a pause keeps the job that has its turn in the lane, and after the resume the jobs run in order", async () => {
    await dueJobs(3, { overlap: "queue" });
    const first = await claimed(1);
    for (const n of [2, 3]) await claim(n);
    await world.pause("s");
    await handOver(world.sql, world.queue, (await settle(first)).outgoing);
    await world.work();
    expect(world.delivered).toEqual([]);
    await world.resume("s");
    await world.work();
    expect(world.delivered.map(({ occurrence }) => occurrence)).toEqual(
      [2, 3].map((n) => at(n * step).toISOString()),
    );
  });
});

describe("a claim and the settle before it", () => {
  /**
   * Starts both in this order while another transaction has the lane. They wait for it, and a
   * second passes on the clock.
   */
  async function meet<First, Second>(one: () => Promise<First>, other: () => Promise<Second>) {
    const { id } = (await world.put("s", { when: "every 10s", overlap: "queue" })).schedule;
    let meeting: Promise<[First, Second]> | undefined;
    await world.sql.begin(async (tx) => {
      await lockLane(tx, id);
      const coming = one();
      await untilWaiting(1);
      meeting = Promise.all([coming, other()]);
      await untilWaiting(2);
      await world.clock.advance(second);
    });
    if (meeting === undefined) throw new Error("Nobody came.");
    return meeting;
  }

  const untilWaiting = (count: number) =>
    until(`${count} wait for the lane`, async () => (await waitingLocks(world.sql, 4)) === count);

  test("a claim that gets the lane before the settle does starts nothing, and the settle sends its job", async () => {
    await dueJobs(2, { overlap: "queue" });
    const first = await claimed(1);
    const [claiming, settling] = await meet(
      () => claim(2),
      () => settle(first),
    );
    expect(claiming).toMatchObject({ outcome: "empty" });
    expect(settling.outgoing).toMatchObject([{ id: (await job(2)).parcelId }]);
  });

  test("a claim that gets the lane after the settle starts its job after the settle, by the clock too", async () => {
    await dueJobs(2, { overlap: "queue" });
    const first = await claimed(1);
    const [settling, claiming] = await meet(
      () => settle(first),
      () => claim(2),
    );
    expect(settling.outgoing).toEqual([]);
    const claimedAt = at(2 * step + second);
    expect(claiming).toMatchObject({ outcome: "claimed", claimedAt });
    expect(
      await world.sql`select claimed_at, lease_until, offer_at from carillon.parcels where laned`,
    ).toEqual([
      {
        claimed_at: claimedAt,
        lease_until: at(2 * step + second + lease),
        offer_at: at(2 * step + second + lease),
      },
    ]);
  });
});

test("a hold that ends by itself keeps a job until its end, and no longer", async () => {
  await dueJobs(1, {});
  const until = at(step + 5 * minute);
  await world.pause("s", { until });
  expect(await claim(1)).toMatchObject({ outcome: "empty" });
  expect(await claim(1)).toMatchObject({ outcome: "early", waitMs: 5 * minute });
  await world.clock.setNow(until);
  expect((await claimed(1)).jobs).toHaveLength(1);
  expect(await world.sql`select from carillon.parcels where held_schedule is not null`).toEqual([]);
});

test("with exactly the rights of each function, a lane is entered, edited, swept and left", async () => {
  await world.stop();
  world = await carillon({ roles: functionRoles });
  await dueJobs(4, { overlap: "queue", retry: { attempts: 1 } });
  await claimed(1);
  for (const n of [2, 3, 4]) await claim(n);
  await world.clock.advance(lease + 1);
  await world.tick();
  await world.work();
  expect((await states(4)).sort()).toEqual(["dead: attempts", "succeeded", "succeeded", "succeeded"]);
  await world.patch("s", { overlap: "skip" });
  await world.patch("s", { overlap: "allow" });
  await world.patch("s", { overlap: "queue" });
  await world.remove("s");
});
