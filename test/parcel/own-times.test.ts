import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ClaimedParcel, claimParcel } from "../../lib/parcel/claim.ts";
import { type Measured, ownTimes, sharedTimes } from "../../lib/parcel/own-times.ts";
import { notifyByDefault, settleParcel } from "../../lib/parcel/settle.ts";
import { type SettleTogether, settleTogether } from "../../lib/parcel/settle-together.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, day, minute, second } from "../support/instants.ts";
import { due, oneParcel } from "../support/parcels.ts";

const measured = (now: number, ...ran: Measured["ran"]): Measured => ({ claimedAt: 0, ran, now: () => now });

describe("own times", () => {
  test.each<[string, Measured | undefined]>([
    ["were not measured", undefined],
    ["began and ended with their parcel", measured(20_000, { from: 10, to: 19_990 })],
    ["did not reach their target", measured(20_000, undefined)],
  ])("jobs that %s need no times of their own", (_, each) => {
    expect(ownTimes(each)).toBeNull();
  });

  test("one job that began or ended apart gives all jobs of its parcel their own times", () => {
    expect(ownTimes(measured(1_000, { from: 0, to: 940 }, { from: 0, to: 990 }))).toEqual({
      startedMs: [1_000, 1_000],
      endedMs: [60, 10],
    });
    expect(ownTimes(measured(1_000, { from: 50, to: 1_000 }, undefined))).toEqual({
      startedMs: [950, null],
      endedMs: [0, 0],
    });
  });

  test("jobs whose times are within 50 milliseconds of each other share them, and an end is late by less than 50", () => {
    const parcel = measured(1_000, { from: 100, to: 880 }, { from: 140, to: 890 }, { from: 120, to: 900 });
    expect(sharedTimes(parcel)).toEqual({ startedMs: 900, endedMs: 100 });
    expect(sharedTimes({ ...parcel, now: () => 1_049 })).toEqual({ startedMs: 949, endedMs: 100 });
    expect(sharedTimes(measured(1_000, { from: 0, to: 10 }, { from: 40, to: 50 }))).toEqual({
      startedMs: null,
      endedMs: 950,
    });
  });

  test.each<[string, Measured]>([
    ["began", measured(1_000, { from: 100, to: 900 }, { from: 150, to: 900 })],
    ["ended", measured(1_000, { from: 0, to: 900 }, { from: 0, to: 950 })],
  ])("jobs that %s 50 milliseconds apart share no times", (_, each) => {
    expect(sharedTimes(each)).toBeNull();
  });

  test("a worker's clock that jumps gives times that the database can hold", () => {
    const jumped = measured(1e15, { from: 0, to: 2e15 }, { from: 2e15, to: 0 });
    expect(ownTimes(jumped)).toEqual({ startedMs: [86_400_000, 0], endedMs: [0, 86_400_000] });
  });
});

describe("a settle with own times", () => {
  let world: Carillon;

  beforeEach(async () => {
    world = await carillon();
  });

  afterEach(() => world.stop());

  async function claimed(count: number): Promise<ClaimedParcel> {
    const parcel = await claimParcel(world.sql, await oneParcel(world, count), minute);
    if (parcel.outcome !== "claimed") throw new Error(`The parcel is ${parcel.outcome}.`);
    await world.clock.advance(20 * second);
    return parcel;
  }

  const stored = () => world.sql`
    select started_at as "startedAt", finished_at as "finishedAt", target_ms as "targetMs" from carillon.jobs order by schedule_id`;

  /** Two jobs, by the worker's clock: one for a second after ten, the other until just now. */
  const twoJobs = measured(20_000, { from: 10_000, to: 11_000 }, { from: 20, to: 20_000 });
  const twoStored = [
    { startedAt: due, finishedAt: at(minute + 11 * second), targetMs: 10_000 },
    { startedAt: due, finishedAt: at(minute + 20 * second), targetMs: null },
  ];
  const succeeded = { kind: "succeeded" } as const;

  test("jobs that all succeeded are written with their own ends", async () => {
    await settleParcel(world.sql, await claimed(2), [succeeded, succeeded], notifyByDefault, twoJobs);
    expect(await stored()).toEqual(twoStored);
  });

  /** Two jobs that ended together, nine seconds before their settle. */
  const early = measured(20_000, { from: 10_000, to: 11_000 }, { from: 10_020, to: 11_010 });
  const earlyStored = [1, 2].map(() => ({
    startedAt: due,
    finishedAt: at(minute + 11 * second + 50),
    targetMs: 10_000,
  }));
  const together = (): SettleTogether =>
    settleTogether({ sql: world.sql, queue: world.queue, log: world.log, notify: notifyByDefault }, 1);

  test("jobs that ended together before their settle are written with that end", async () => {
    await settleParcel(world.sql, await claimed(2), [succeeded, succeeded], notifyByDefault, early);
    expect(await stored()).toEqual(earlyStored);
  });

  test("parcels that are settled together are written with the ends of their jobs", async () => {
    expect(await together()(await claimed(2), early)).toBe(true);
    expect(await stored()).toEqual(earlyStored);
  });

  test("a parcel whose jobs ended apart is not settled with others", async () => {
    expect(await together()(await claimed(2), twoJobs)).toBe(false);
    expect(await stored()).toMatchObject([{ finishedAt: null }, { finishedAt: null }]);
  });

  test("a job cannot have begun before its claim, nor end after its settle", async () => {
    const jumped = measured(0, { from: -1e9, to: -1e8 }, { from: 1e9, to: 1e9 });
    await settleParcel(world.sql, await claimed(2), [succeeded, succeeded], notifyByDefault, jumped);
    expect(await stored()).toEqual([
      { startedAt: due, finishedAt: due, targetMs: null },
      { startedAt: due, finishedAt: at(minute + 20 * second), targetMs: 20_000 },
    ]);
  });

  test("the parcel's times are kept once, with the jobs' day", async () => {
    const parcel = await claimed(2);
    await settleParcel(world.sql, parcel, [succeeded, succeeded]);
    const times = await world.sql`
      select tableoid::regclass::text as day, occurrence, parcel_id as id, claimed_at, made_at, settled_at, queue from carillon.parcel_times`;
    expect(times).toEqual([
      {
        day: "carillon.parcel_times_20260302",
        occurrence: due,
        id: parcel.id,
        claimed_at: due,
        made_at: at(0),
        settled_at: at(minute + 20 * second),
        queue: "fast",
      },
    ]);
  });

  test("the times of a parcel with occurrences of two days are kept with each day", async () => {
    await world.sql`
      select carillon.note_times(7, ${due}, ${due}, null, null, ${due}, null, 'fast', 1::smallint, ${[
        at(day),
        at(0),
        at(day + minute),
      ].map((each) => each.toISOString())}::text[]::timestamptz[])`;
    expect(await world.sql`select occurrence from carillon.parcel_times order by 1`).toEqual([
      { occurrence: at(0) },
      { occurrence: at(day) },
    ]);
  });

  test("a settle does not fail for a day of its parcel that is dropped", async () => {
    const parcel = await claimed(1);
    await world.sql`drop table carillon.parcel_times_20260302`;
    expect((await settleParcel(world.sql, parcel, [succeeded])).held).toBe(true);
  });
});
