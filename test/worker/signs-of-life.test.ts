import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Sql } from "../../lib/db/connect.ts";
import { jobId } from "../../lib/job/job-id.ts";
import { beatParcel } from "../../lib/parcel/beat.ts";
import { type ClaimedParcel, claimParcel } from "../../lib/parcel/claim.ts";
import { endLease } from "../../lib/parcel/end-lease.ts";
import { settleParcel } from "../../lib/parcel/settle.ts";
import { type Life, signsOfLife } from "../../lib/worker/signs-of-life.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, monday, second } from "../support/instants.ts";
import { type ManualClock, manualClock } from "../support/manual-clock.ts";
import { oneParcel } from "../support/parcels.ts";

const leaseMs = 30 * second;
let world: Carillon;
let workerClock: ManualClock;
let life: Life | undefined;
/** True once no more beats are expected. */
let isOver: boolean;

beforeEach(async () => {
  world = await carillon();
  workerClock = manualClock(monday);
  isOver = false;
  beats = 0;
});

afterEach(async () => {
  life?.end();
  await world.stop();
});

async function claimed(jobs: number): Promise<ClaimedParcel> {
  const parcel = await claimParcel(
    world.sql,
    await oneParcel(world, jobs, { target: { handler: "greet" } }),
    leaseMs,
  );
  if (parcel.outcome !== "claimed") throw new Error(`The parcel is ${parcel.outcome}.`);
  return parcel;
}

/** The worker's connection, which counts the answered beats. */
let beats: number;
const counted = (): Sql =>
  new Proxy(world.sql, {
    apply: (sql, _self, details: unknown[]) => {
      const answer: unknown = Reflect.apply(sql, undefined, details);
      const count = () => {
        beats += 1;
      };
      if (answer instanceof Promise) answer.then(count, count);
      return answer;
    },
  });

/** Advances both clocks by a second, and waits for the beat that falls into it. */
async function beat(seconds = 1): Promise<void> {
  for (let each = 0; each < seconds; each++) {
    const before = beats;
    await world.clock.advance(second);
    await workerClock.advance(second);
    if (isOver) continue;
    await expect.poll(() => beats, { interval: 1 }).toBeGreaterThan(before);
  }
}

const leaseUntil = async () =>
  (await world.sql<{ until: Date }[]>`select lease_until as until from carillon.parcels`)[0]?.until;
const live = (parcel: ClaimedParcel) =>
  signsOfLife({ sql: counted(), clock: workerClock, log: world.log }, parcel, leaseMs);

describe("while a parcel is worked", () => {
  test("a lease is renewed while its parcel is worked, and is written at most once in half of its length", async () => {
    life = live(await claimed(1));
    const first = await leaseUntil();
    await beat(14);
    expect(await leaseUntil()).toEqual(first);
    await beat(3);
    const second_ = await leaseUntil();
    expect(second_?.getTime()).toBeGreaterThan(first?.getTime() ?? 0);
    await beat(60);
    expect((await leaseUntil())?.getTime()).toBeGreaterThan(
      world.clock.now().getTime() + leaseMs / 2 - 2 * second,
    );
    await world.tick();
    expect(await world.jobs()).toMatchObject([{ state: "waiting", attempt: 0 }]);
  });

  test("a job that a caller cancels is stopped, and the other jobs are not", async () => {
    const parcel = await claimed(2);
    life = live(parcel);
    const [first, other] = parcel.jobs.map((job) => life?.stopOf(job).signal);
    await world.sql`update carillon.jobs set cancel_asked = true where schedule_id = ${parcel.jobs[0]?.scheduleId ?? ""}`;
    await beat();
    expect(first?.reason).toMatchObject({ why: "cancelled" });
    expect(other?.aborted).toBe(false);
  });

  test("a cancelled job whose stop is read later, also by a copy of the job, is stopped", async () => {
    const parcel = await claimed(2);
    life = live(parcel);
    const [first, other] = parcel.jobs;
    if (first === undefined || other === undefined) throw fail();
    await world.sql`update carillon.jobs set cancel_asked = true where schedule_id = ${first.scheduleId}`;
    await beat(2);
    for (const job of [first, { ...first }])
      expect(life.stopOf(job).signal.reason).toMatchObject({ why: "cancelled" });
    expect(life.stopOf({ ...other })).toBe(life.stopOf(other));
    expect(life.stopOf(other).reason).toBeUndefined();
  });

  test("a lease that another worker took over stops every job", async () => {
    const parcel = await claimed(2);
    life = live(parcel);
    await world.clock.advance(minute);
    expect((await endLease(world, parcel.id, [])).held).toBe(true);
    await beat();
    for (const job of parcel.jobs)
      expect(life?.stopOf(job).signal.reason).toMatchObject({ why: "lease-lost" });
  });

  test("a beat of a worker whose parcel another worker has claimed reports that, and does not prolong the other worker's lease", async () => {
    const parcel = await claimed(1);
    const others = at(10 * minute);
    await world.sql`update carillon.parcels set fence = fence + 1, lease_until = ${others}`;
    expect(await beatParcel(world.sql, parcel, 20 * minute)).toEqual({ held: false, cancelled: [] });
    expect(await leaseUntil()).toEqual(others);
  });

  test("a database that is away for a moment stops no job", async () => {
    const parcel = await claimed(1);
    await world.sql`alter function carillon.beat_parcel(bigint, int, int) rename to beat_parcel_away`;
    life = live(parcel);
    await beat(2);
    await world.sql`alter function carillon.beat_parcel_away(bigint, int, int) rename to beat_parcel`;
    expect(world.log.lines.map(({ event }) => event)).toContain("worker.beat-failed");
    await beat(20);
    expect((await leaseUntil())?.getTime()).toBeGreaterThan(at(minute + leaseMs).getTime());
    expect(life?.stopOf(parcel.jobs[0] ?? fail()).signal.aborted).toBe(false);
  });

  test("a lease is not renewed once the work is over, or after a crash", async () => {
    const parcel = await claimed(1);
    live(parcel).end();
    isOver = true;
    await beat(31);
    const [job] = await world.jobs();
    expect(job).toMatchObject({ state: "waiting", attempt: 0 });
    expect((await endLease(world, parcel.id, [])).outgoing).toHaveLength(1);
    expect((await settleParcel(world.sql, parcel, [{ kind: "succeeded" }])).held).toBe(false);
    expect(await world.jobs()).toMatchObject([{ state: "waiting", attempt: 1 }]);
    expect(await world.sql`select outcome, error_class from carillon.attempts`).toEqual([
      { outcome: "crashed", error_class: "LeaseEnded" },
    ]);
  });
});

describe("a stop", () => {
  test("the stop of a job that is not in the parcel is refused, with the job's id", async () => {
    const parcel = await claimed(1);
    life = live(parcel);
    const [job] = parcel.jobs;
    if (job === undefined) throw fail();
    expect(() => life?.stopOf({ ...job, n: 7 })).toThrow(jobId({ ...job, n: 7 }));
  });
});

function fail(): never {
  throw new Error("There is no job.");
}
