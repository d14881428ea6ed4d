import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { failed } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, day, hour, minute, second } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  await world.tick();
});

afterEach(() => world.stop());

const states = async (key?: string) =>
  (await world.jobs(key)).map(({ occurrence, state, reason }) => [occurrence, state, reason]);
const passedOver = () => world.sql`select from_at, to_at, count::int, reason from carillon.passed_over`;
const deliveredAt = () =>
  world.delivered
    .map(({ occurrence }) => occurrence)
    .sort()
    .map((occurrence) => new Date(occurrence));

/** Moves the clock, without ticks in between. */
async function jump(until: Date): Promise<void> {
  await world.clock.setNow(until);
  await world.tick();
  await world.work();
}

/**
 * Lets time pass as in production: with the rarest ticks allowed, and each message worked when it
 * arrives.
 */
async function live(until: Date): Promise<void> {
  while (world.clock.now() < until) {
    const next = Math.min(until.getTime(), world.clock.now().getTime() + 3 * minute);
    await world.tick();
    await world.work();
    await world.clock.setNow(new Date(next));
  }
  await world.tick();
  await world.work();
}

describe("a pause", () => {
  test("a pause lets no job start, and withdraws the jobs that are not due yet", async () => {
    await world.put("often", { when: "every 1m" });
    expect(await world.jobs()).toHaveLength(3);
    expect(await world.pause("often", { reason: "maintenance" })).toMatchObject({
      change: "changed",
      schedule: {
        state: "paused",
        nextAt: null,
        version: 2,
        holds: [{ owner: "ann", reason: "maintenance", since: at(0) }],
      },
    });
    await live(at(5 * minute));
    expect(await world.jobs()).toEqual([]);
    expect(world.delivered).toEqual([]);
  });

  test("a pause makes a job that was due and had not started wait for the resume", async () => {
    await world.put("once", { when: "in 1m" });
    await world.clock.advance(minute);
    await world.pause("once");
    await world.work();
    await jump(at(hour));
    expect(await world.jobs()).toMatchObject([{ state: "waiting", attempt: 0 }]);
    expect(await world.sql`select held_schedule from carillon.parcels`).toHaveLength(1);
    await world.resume("once");
    await world.work();
    expect(world.delivered).toHaveLength(1);
    expect(await world.jobs()).toMatchObject([{ state: "succeeded", startedAt: at(hour), version: 1 }]);
    expect(await world.sql`select from carillon.parcels`).toEqual([]);
  });

  test("a pause leaves the jobs of other schedules in the parcel that they share", async () => {
    for (const key of ["a", "b", "c"]) await world.put(key, { when: "at 2026-03-02T10:30" });
    await world.sql`update carillon.schedules set shard = 0`;
    await world.sql`update carillon.plan set shard = 0`;
    await world.clock.setNow(at("10:29:00"));
    await world.tick();
    await world.clock.setNow(at("10:30:00"));
    await world.pause("b");
    await world.work();
    expect(world.delivered.map(({ key }) => key).sort()).toEqual(["a", "c"]);
    await world.resume("b");
    await world.work();
    expect(world.delivered.map(({ key }) => key)).toContain("b");
    expect((await world.jobs()).every(({ state }) => state === "succeeded")).toBe(true);
  });

  test("a pause makes a job between two attempts wait too, and after the resume its attempts continue to count", async () => {
    await world.put("failing", { when: "in 1s" });
    world.outcome = () => failed("no");
    await world.clock.advance(second);
    await world.work();
    await world.pause("failing");
    await jump(at(hour));
    expect(world.delivered).toHaveLength(1);
    world.outcome = () => ({ kind: "done" });
    await world.resume("failing");
    await world.work();
    expect(world.delivered.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(await world.jobs()).toMatchObject([{ state: "succeeded", attempt: 2, readyAt: null }]);
  });

  test("a repeated pause changes nothing, and one with another reason renews the hold and keeps its start", async () => {
    await world.put("often", { when: "every 1m" });
    await world.pause("often", { reason: "a" });
    await world.clock.advance(minute);
    expect(await world.pause("often", { reason: "a" })).toMatchObject({ change: "unchanged" });
    expect(await world.pause("often", { reason: "b" })).toMatchObject({
      change: "changed",
      schedule: { version: 3, holds: [{ reason: "b", since: at(0) }] },
    });
  });
});

describe("a resume", () => {
  test.each(["every 10m", "*/10 * * * *"])(
    "a resume runs the newest missed occurrence of %s, and records the others as skipped because paused",
    async (when) => {
      await world.put("often", { when });
      await world.pause("often");
      await jump(at("10:35:00"));
      await world.resume("often");
      expect(await states()).toEqual([
        [at("10:10:00"), "skipped", "paused"],
        [at("10:20:00"), "skipped", "paused"],
        [at("10:30:00"), "waiting", null],
      ]);
      await live(at("10:41:00"));
      expect(deliveredAt()).toEqual([at("10:30:00"), at("10:40:00")]);
    },
  );

  test.each(["every 1m", "* * * * *"])(
    "a resume of %s records many skipped occurrences as one range",
    async (when) => {
      await world.put("often", { when });
      await world.pause("often");
      await jump(at("11:00:30"));
      await world.resume("often");
      expect(await passedOver()).toEqual([
        { from_at: at("10:01:00"), to_at: at("10:57:00"), count: 57, reason: "paused" },
      ]);
      await world.work();
      expect(deliveredAt()).toEqual(["10:58:00", "10:59:00", "11:00:00"].map(at));
    },
  );

  test("a resume after months works, although the days of the pause are dropped", async () => {
    await world.put("monthly", { when: "0 0 1 * *" });
    await world.pause("monthly");
    await world.clock.advance(45 * day);
    await world.tick({ retentionDays: 7 });
    await world.resume("monthly");
    await world.work();
    expect(deliveredAt()).toEqual([new Date("2026-04-01T00:00Z")]);
    await world.tick({ retentionDays: 7 });
  });

  test("a resume releases the schedule only when the last of several owners resumes", async () => {
    await world.put("often", { when: "every 10m" });
    await world.pause("often", { owner: "ann" });
    await world.pause("often", { owner: "bob" });
    expect(await world.resume("often", "ann")).toMatchObject({
      change: "changed",
      schedule: { state: "paused", holds: [{ owner: "bob" }] },
    });
    expect(await world.resume("often", "ann")).toMatchObject({ change: "unchanged" });
    await jump(at("10:25:00"));
    expect(world.delivered).toEqual([]);
    expect(await world.resume("often", "bob")).toMatchObject({
      schedule: { state: "active", holds: [], nextAt: at("10:20:00") },
    });
    await world.work();
    expect(deliveredAt()).toEqual([at("10:20:00")]);
  });

  test("a resume runs a one-time occurrence that was due under the hold, also after an edit", async () => {
    await world.put("once", { when: "at 2026-03-02T10:10" });
    await world.pause("once");
    await jump(at("10:20:00"));
    await world.patch("once", { payload: "edited" });
    await jump(at("10:30:00"));
    await world.resume("once");
    await world.work();
    expect(world.delivered).toMatchObject([{ occurrence: at("10:10:00").toISOString(), payload: "edited" }]);
    expect(await passedOver()).toEqual([]);
  });

  test("a resume runs a single run that was created or put under the hold and was due at once", async () => {
    await world.put("created", { when: "at 2026-03-02T10:00", paused: true });
    await world.put("put", { when: "every 1h", paused: true });
    await world.put("put", { when: "at 2026-03-02T09:59:30" });
    await world.clock.advance(10 * minute);
    await world.tick();
    for (const key of ["created", "put"]) await world.resume(key);
    await world.work();
    expect(deliveredAt()).toEqual(expect.arrayContaining([at("10:00:00"), at("09:59:30")]));
    expect(world.delivered).toHaveLength(2);
  });
});

describe("an edit under a hold", () => {
  test("an edit of `when` under a hold records the occurrences of the old cadence as skipped, and the new cadence counts from the edit", async () => {
    await world.put("often", { when: "every 10m" });
    await world.pause("often");
    await jump(at("10:35:00"));
    await world.patch("often", { when: "every 15m" });
    expect(await passedOver()).toEqual([
      { from_at: at("10:10:00"), to_at: at("10:30:00"), count: 3, reason: "paused" },
    ]);
    await jump(at("11:00:00"));
    await world.resume("often");
    await live(at("11:06:00"));
    expect(deliveredAt()).toEqual([at("10:50:00"), at("11:05:00")]);
  });

  test("an edit that keeps `when` under a hold leaves the occurrences since the hold began to the resume", async () => {
    await world.put("often", { when: "every 10m" });
    await world.pause("often");
    await jump(at("10:35:00"));
    await world.put("often", { when: "every 10m", payload: 2 });
    expect(await passedOver()).toEqual([]);
    await jump(at("10:36:30"));
    await world.resume("often");
    expect(await states()).toEqual([
      [at("10:10:00"), "skipped", "paused"],
      [at("10:20:00"), "skipped", "paused"],
      [at("10:30:00"), "waiting", null],
    ]);
  });

  test("`paused` in a body sets and releases the caller's own hold, and a body without it changes no hold", async () => {
    const often = { when: "every 10m" };
    expect(await world.put("often", { ...often, paused: true }, "bob")).toMatchObject({
      schedule: { state: "paused", holds: [{ owner: "bob" }] },
    });
    expect(await world.put("often", { ...often, payload: 1 }, "ann")).toMatchObject({
      schedule: { state: "paused" },
    });
    expect(await world.put("often", { ...often, payload: 1, paused: false }, "ann")).toMatchObject({
      change: "unchanged",
    });
    await live(at("10:15:00"));
    expect(await world.put("often", { ...often, payload: 2, paused: false }, "bob")).toMatchObject({
      schedule: { state: "active", holds: [] },
    });
    await world.work();
    expect(world.delivered).toMatchObject([{ occurrence: at("10:10:00").toISOString(), payload: 2 }]);
  });
});

describe("a hold with an end", () => {
  test("a hold with an end is released by the next tick", async () => {
    await world.put("often", { when: "every 10m" });
    await world.pause("often", { until: at("10:15:00") });
    await jump(at("10:14:00"));
    expect(world.delivered).toEqual([]);
    await live(at("10:15:00"));
    expect(deliveredAt()).toEqual([at("10:10:00")]);
    expect(await world.sql`select actor from carillon.audit where action = 'schedule.resumed'`).toEqual([
      { actor: "carillon" },
    ]);
  });

  test("a hold that was renewed before the tick released it stays", async () => {
    await world.put("often", { when: "every 10m" });
    await world.pause("often", { until: at("10:15:00") });
    await world.clock.setNow(at("10:15:00"));
    expect(await world.pause("often", { until: at("11:00:00") })).toMatchObject({
      schedule: { state: "paused", holds: [{ until: at("11:00:00") }] },
    });
    // The job that the first hold released had not started: it waits for the second.
    await live(at("10:59:50"));
    expect(deliveredAt()).toEqual([]);
    await live(at("11:00:00"));
    expect(deliveredAt()).toEqual([at("10:10:00"), at("10:50:00"), at("11:00:00")]);
  });

  test("a hold with an end is removed with its schedule", async () => {
    await world.put("gone", { when: "every 1h" });
    await world.pause("gone", { until: at(hour) });
    await world.remove("gone");
    expect(await world.sql`select from carillon.holds`).toEqual([]);
  });

  test("a hold with an end of a deleted schedule does not disturb a tick", async () => {
    await world.put("gone", { when: "every 10m" });
    await world.pause("gone", { until: at("10:15:00") });
    await world.remove("gone");
    await world.put("gone", { when: "every 10m" });
    await live(at("10:20:00"));
    expect(deliveredAt()).toEqual([at("10:10:00"), at("10:20:00")]);
  });
});
