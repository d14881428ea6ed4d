import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { deleteSchedule, patchSchedule } from "../../lib/edit/schedule-edits.ts";
import { failed } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, day, hour, minute, second } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const states = async (key?: string) =>
  (await world.jobs(key)).map(({ occurrence, version, state }) => [occurrence, version, state]);

describe("an edit", () => {
  test("an edit with an identical body changes nothing", async () => {
    await world.put("same", { when: "every 5m", payload: { a: 1, b: [2] } });
    const again = await world.put("same", { payload: { b: [2], a: 1 }, when: "every 5m", tags: [] });
    expect(again).toMatchObject({ change: "unchanged", schedule: { version: 1 } });
    expect(await world.patch("same", {})).toMatchObject({ change: "unchanged" });
    expect(await world.sql`select from carillon.schedule_versions`).toHaveLength(1);
  });

  test("an edit that keeps `when` keeps the phase, and makes the jobs that are not due yet again", async () => {
    await world.put("often", { when: "every 1m" });
    await world.tick();
    await world.clock.setNow(at("10:01:20"));
    const { schedule } = await world.put("often", { when: "every 1m", payload: "new" });
    expect(schedule).toMatchObject({ version: 2, nextAt: at("10:01:00") });
    expect(await states()).toEqual([
      [at("10:01:00"), 1, "waiting"],
      [at("10:02:00"), 2, "waiting"],
      [at("10:03:00"), 2, "waiting"],
    ]);
    await world.tick();
    await world.clock.setNow(at("10:04:00"));
    await world.work();
    // Jobs due before the edit run too, with the payload that the schedule has when they are
    // claimed.
    expect(world.delivered.map(({ occurrence, payload }) => [new Date(occurrence), payload])).toEqual(
      expect.arrayContaining(
        ["10:01:00", "10:02:00", "10:03:00", "10:04:00"].map((time) => [at(time), "new"]),
      ),
    );
    expect(world.delivered).toHaveLength(4);
  });

  test.each([
    ["the end", { endsAt: "2027-01-01T12:00:00Z" }],
    ["the zone of an exact interval", { timezone: "Europe/Berlin" }],
    ["the end and the payload", { endsAt: "2027-01-01T12:00:00Z", payload: 1 }],
  ])("an edit of %s keeps the phase of an interval", async (_, patch) => {
    await world.put("often", { when: "every 1m" });
    await world.tick();
    await world.clock.setNow(at("10:01:20"));
    const { changes } = await world.patch("often", patch);
    expect(changes.after.slice(0, 2)).toEqual([at("10:02:00"), at("10:03:00")]);
    expect((await states()).map(([occurrence]) => occurrence)).toEqual([
      at("10:01:00"),
      at("10:02:00"),
      at("10:03:00"),
    ]);
  });

  test("an edit of `when` withdraws the jobs that are not due yet, and the new cadence counts from now", async () => {
    await world.put("often", { when: "every 1m" });
    await world.tick();
    await world.clock.setNow(at("10:01:20"));
    await world.patch("often", { when: "every 50s" });
    expect(await states()).toEqual([
      [at("10:01:00"), 1, "waiting"],
      [at("10:02:10"), 2, "waiting"],
      [at("10:03:00"), 2, "waiting"],
    ]);
    await world.clock.setNow(at("10:03:00"));
    await world.tick();
    await world.work();
    expect(world.delivered.map(({ occurrence }) => new Date(occurrence)).sort()).toEqual(
      ["10:01:00", "10:02:10", "10:03:00"].map(at),
    );
  });

  test("an edit at the instant at which a job is due leaves that job", async () => {
    await world.put("often", { when: "every 1m" });
    await world.tick();
    await world.clock.setNow(at("10:02:00"));
    await world.patch("often", { when: "0 0 1 1 *" });
    expect(await states()).toEqual([
      [at("10:01:00"), 1, "waiting"],
      [at("10:02:00"), 1, "waiting"],
    ]);
  });

  test("an edit of an `at` moves it: the old instant does not run", async () => {
    await world.put("once", { when: "in 2m" });
    await world.tick();
    await world.put("once", { when: "in 1m" });
    expect(await states()).toEqual([[at("10:01:00"), 2, "waiting"]]);
    await world.put("once", { when: "at 2026-03-02T12:00" });
    expect(await states()).toEqual([]);
    await world.clock.setNow(at("12:00:00"));
    await world.tick();
    await world.work();
    expect(world.delivered).toMatchObject([{ occurrence: at("12:00:00").toISOString() }]);
  });

  test("an edit with an identical body changes nothing, also if JSON writes it in another form", async () => {
    const body = { when: "every 1h", payload: { a: -0, b: [1] } };
    await world.put("same", body);
    expect(await world.put("same", body)).toMatchObject({ change: "unchanged", schedule: { version: 1 } });
    expect(await world.put("same", { ...body, payload: { b: [1], a: 0 } })).toMatchObject({
      change: "unchanged",
    });
  });

  test("an edit that names a relative `when` counts it from now, and one that does not keeps its instant", async () => {
    await world.put("relative", { when: "in 1h" });
    await world.clock.advance(10 * minute);
    expect(await world.patch("relative", { payload: 1 })).toMatchObject({
      schedule: { nextAt: at("11:00:00") },
    });
    expect(await world.patch("relative", { when: "in 1h" })).toMatchObject({
      change: "changed",
      schedule: { nextAt: at("11:10:00") },
    });
    await world.clock.advance(minute);
    expect(await world.put("relative", { when: "in 1h", payload: 1 })).toMatchObject({
      change: "changed",
      schedule: { nextAt: at("11:11:00"), version: 4 },
    });
  });

  test("an edit while ticks lag makes the jobs of the old version up to now, and plans the rest again", async () => {
    await world.put("often", { when: "every 30s" });
    await world.clock.advance(100 * second);
    await world.patch("often", { when: "every 1m" });
    expect(await states()).toEqual(
      ["10:00:30", "10:01:00", "10:01:30"].map((time) => [at(time), 1, "waiting"]),
    );
    await world.tick();
    expect((await states()).slice(3)).toEqual(
      ["10:02:40", "10:03:40", "10:04:40"].map((time) => [at(time), 2, "waiting"]),
    );
    await world.work();
    expect(world.delivered).toHaveLength(3);
  });

  test("an edit between two batches of a late tick makes no job twice and loses none", async () => {
    await world.put("often", { when: "every 30s" });
    await world.tick();
    // As if a batch had ended just before this schedule: its jobs exist, but the watermark is below
    // them.
    await world.sql`update carillon.shards set watermark_at = ${at(0)}`;
    await world.clock.advance(100 * second);
    await world.patch("often", { payload: 2 });
    await world.tick();
    const jobs = await states();
    expect(jobs.map(([occurrence]) => occurrence)).toEqual(
      Array.from({ length: 9 }, (_, k) => at((k + 1) * 30 * second)),
    );
    expect(jobs.map(([, version]) => version)).toEqual([1, 1, 1, 2, 2, 2, 2, 2, 2]);
    await world.clock.advance(180 * second);
    await world.work();
    expect(world.delivered).toHaveLength(9);
    expect(await world.sql`select from carillon.parcels`).toEqual([]);
  });

  test.each([2, 4, 40])("an edit works after %i days without a tick", async (days) => {
    await world.put("hourly", { when: "every 1h" });
    await world.clock.advance(days * day);
    await world.patch("hourly", { payload: 2 });
    await world.tick();
    await world.work();
    const jobs = await world.jobs();
    expect(jobs.filter(({ state }) => state === "succeeded").map(({ occurrence }) => occurrence)).toEqual([
      at(days * day - hour),
      at(days * day),
    ]);
  });

  test("an edit with If-Match applies only to the versions named there", async () => {
    await world.put("guarded", { when: "every 5m" });
    const patch = (ifMatch: readonly number[] | "*") =>
      patchSchedule(world, { key: "guarded", patch: { payload: ifMatch }, ifMatch, caller: { name: "ann" } });
    await expect(patch([2])).rejects.toMatchObject({ kind: "precondition" });
    expect(await patch([7, 1])).toMatchObject({ schedule: { version: 2 } });
    expect(await patch("*")).toMatchObject({ schedule: { version: 3 } });
    await expect(
      deleteSchedule(world, { key: "guarded", ifMatch: [2], caller: { name: "ann" } }),
    ).rejects.toMatchObject({ kind: "precondition" });
  });

  test("concurrent edits of one schedule each get their own version", async () => {
    await world.put("busy", { when: "every 5m" });
    await Promise.all(
      Array.from({ length: 8 }, (_, payload) => world.patch("busy", { payload: payload + 1 })),
    );
    const versions = await world.sql`select version from carillon.schedule_versions order by version`;
    expect(versions.map(({ version }) => version)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  test("an edit that turns a queue's schedule into a handler's sends its next jobs over the slow queue", async () => {
    await world.put("mover", { when: "every 1m" });
    await world.tick();
    await world.put("mover", { when: "every 1m", target: { handler: "greet" } });
    const parcels = await world.sql`
      select p.queue from carillon.jobs j join carillon.parcels p on p.id = j.parcel_id where j.version = 2`;
    expect(parcels.map(({ queue }) => queue)).toEqual(["slow", "slow", "slow"]);
  });
});

describe("a delete", () => {
  test("a delete withdraws the jobs that are not due yet and cancels the waiting ones", async () => {
    await world.put("gone", { when: "every 1m" });
    await world.tick();
    await world.clock.setNow(at("10:01:30"));
    await world.remove("gone");
    expect(await states()).toEqual([[at("10:01:00"), 1, "waiting"]]);
    await world.work();
    expect(await world.jobs()).toMatchObject([
      { state: "cancelled", reason: "deleted", attempt: 0, parcelId: null },
    ]);
    expect(world.delivered).toEqual([]);
    await world.clock.advance(hour);
    await world.tick();
    expect(await world.jobs()).toHaveLength(1);
    await expect(world.remove("gone")).rejects.toMatchObject({ kind: "missing" });
  });

  test("a delete cancels a job that is to be retried", async () => {
    await world.tick();
    await world.put("failing", { when: "in 1s" });
    world.outcome = () => failed("no");
    await world.clock.advance(second);
    await world.work();
    await world.remove("failing");
    await world.clock.advance(hour);
    await world.tick();
    await world.work();
    expect(world.delivered).toHaveLength(1);
    expect(await world.jobs()).toMatchObject([{ state: "cancelled", reason: "deleted", attempt: 1 }]);
    expect(await world.sql`select from carillon.parcels`).toEqual([]);
  });

  test("a delete cancels a job that waits under a hold at once", async () => {
    await world.tick();
    await world.put("held", { when: "in 1s" });
    await world.clock.advance(second);
    await world.pause("held");
    await world.work();
    await world.remove("held");
    expect(await world.jobs()).toMatchObject([
      { state: "cancelled", reason: "deleted", finishedAt: at(second) },
    ]);
    expect(await world.sql`select from carillon.parcels`).toEqual([]);
  });

  test("a delete lets a running job end", async () => {
    await world.tick();
    await world.put("running", { when: "in 1s" });
    await world.clock.advance(second);
    world.outcome = async () => {
      await world.remove("running");
      return { kind: "done" };
    };
    await world.work();
    expect(await world.jobs()).toMatchObject([{ state: "succeeded", attempt: 1 }]);
  });

  test("a delete frees the key: the next put creates another schedule", async () => {
    const first = await world.put("key", { when: "in 1m" });
    await world.tick();
    await world.remove("key");
    const second = await world.put("key", { when: "in 1m" });
    expect(second).toMatchObject({ change: "created", schedule: { version: 1 } });
    expect(second.schedule.id).not.toBe(first.schedule.id);
    await world.tick();
    await world.clock.advance(minute);
    await world.work();
    expect(world.delivered).toHaveLength(1);
    expect(await world.jobs()).toMatchObject([{ version: 1, state: "succeeded" }]);
  });

  test("a delete and a concurrent create under one key take effect one after the other", async () => {
    await world.put("key", { when: "in 1m" });
    const answers = await Promise.allSettled([world.remove("key"), world.put("key", { when: "in 2m" })]);
    expect(answers.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled"]);
    const live = await world.sql`select from carillon.schedules where deleted_at is null`;
    expect(live.length).toBeLessThanOrEqual(1);
  });
});
