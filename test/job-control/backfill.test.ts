import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { connect } from "../../lib/db/connect.ts";
import { type BackfillParams, backfillSchedule } from "../../lib/job-control/backfill.ts";
import { handOver } from "../../lib/parcel/hand-over.ts";
import { failed } from "../../lib/target/delivery.ts";
import { admitBacklog, backlogDefaults } from "../../lib/tick/housekeeping/admit-backlog.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, day, hour, minute, second } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

function backfill(key: string, params: Partial<BackfillParams> = {}, sql = world.sql) {
  return backfillSchedule(
    { sql, queue: world.queue },
    { key, from: at(0), to: world.clock.now(), limit: 1_000, caller: { name: "ann" }, ...params },
  );
}

async function admitAll(): Promise<void> {
  await handOver(world.sql, world.queue, await admitBacklog(world, backlogDefaults));
}

/**
 * `every 1m` from ten o'clock on, with an outage of ten hours after which only the newest
 * occurrence ran.
 */
async function outage(body: object = {}): Promise<void> {
  await world.put("minutes", { when: "every 1m", ...body });
  await world.clock.advance(10 * hour);
  await world.tick();
  await world.work();
  world.delivered.length = 0;
}

const backfilled = () =>
  world.sql<{ occurrence: Date; state: string; due_at: Date }[]>`
    select occurrence, state, due_at from carillon.jobs where kind = 'backfill' order by occurrence`;

const minutesFrom = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, index) => at((first + index) * minute));

describe("a backfill", () => {
  test("a backfill runs the occurrences that did not run, small ones at once, and none twice", async () => {
    await outage();
    const now = world.clock.now();
    const done = await backfill("minutes", { to: at(30 * minute) });
    expect(done).toEqual({ accepted: 30, existing: 0, from: at(0), to: at(30 * minute), next: null });
    expect(await backfilled()).toEqual(
      minutesFrom(1, 30).map((occurrence) => ({ occurrence, state: "waiting", due_at: now })),
    );
    await world.work();
    expect(world.delivered.map(({ occurrence }) => occurrence)).toEqual(
      minutesFrom(1, 30).map((each) => each.toISOString()),
    );
    expect(await backfill("minutes", { to: at(30 * minute) })).toMatchObject({ accepted: 0, existing: 30 });
    expect(await backfill("minutes", { from: at(29 * minute), to: at(32 * minute) })).toMatchObject({
      accepted: 2,
      existing: 2,
    });
  });

  test("a backfill leaves out occurrences whose cadence job ran, waits or failed, and takes those skipped one by one", async () => {
    await world.put("minutes", { when: "every 1m", retry: { attempts: 1 } });
    await world.tick();
    await world.clock.setNow(at(minute));
    await world.work();
    await world.clock.setNow(at(2 * minute));
    world.outcome = () => failed("no");
    await world.work();
    await world.clock.setNow(at(12 * minute));
    await world.tick();
    const states = (await world.jobs()).filter(({ occurrence }) => occurrence <= at(12 * minute));
    const skipped = states.filter(({ state }) => state === "skipped");
    expect(skipped.length).toBeGreaterThan(3);
    const done = await backfill("minutes");
    expect(done).toMatchObject({ accepted: skipped.length, existing: 12 - skipped.length });
    expect((await backfilled()).map(({ occurrence }) => occurrence)).toEqual(
      skipped.map((job) => job.occurrence),
    );
  });

  test("a backfill of many occurrences goes through the backlog, the first of them at once, and none is accepted again meanwhile", async () => {
    await outage();
    const done = await backfill("minutes", { to: at(5 * hour) });
    expect(done).toMatchObject({ accepted: 300, existing: 0, next: null });
    expect(await backfilled()).toHaveLength(100);
    expect(await backfill("minutes", { to: at(5 * hour) })).toMatchObject({ accepted: 0, existing: 300 });
    await world.work();
    expect(world.delivered).toHaveLength(100);
    await world.clock.advance(second);
    await admitAll();
    await world.clock.advance(2 * second);
    await world.work();
    expect(world.delivered.map(({ occurrence }) => occurrence).sort()).toEqual(
      minutesFrom(1, 300).map((each) => each.toISOString()),
    );
  });

  test("a backfill of more than the limit takes the oldest and returns the next start", async () => {
    await outage();
    const first = await backfill("minutes", { to: at(hour), limit: 25 });
    expect(first).toEqual({
      accepted: 25,
      existing: 0,
      from: at(0),
      to: at(25 * minute),
      next: at(26 * minute),
    });
    const second = await backfill("minutes", { from: at(26 * minute), to: at(hour), limit: 35 });
    expect(second).toMatchObject({ accepted: 35, existing: 0, to: at(hour), next: null });
  });

  test("a backfill of a schedule whose fires are used up ends with the last of them", async () => {
    await world.put("thrice", { when: "every 1m", maxFires: 3 });
    await world.clock.advance(20 * minute);
    await world.tick();
    await world.work();
    await world.clock.advance(hour);
    await world.tick();
    const ran = (await world.jobs())
      .filter(({ state }) => state === "succeeded")
      .map((job) => job.occurrence);
    expect(ran).toHaveLength(3);
    const done = await backfill("thrice");
    expect(done).toMatchObject({ to: ran.at(-1), existing: 3 });
    expect(done.accepted).toBe((Number(ran.at(-1)) - at(0).getTime()) / minute - 3);
  });

  test("a backfill of a schedule with a window covers only the window", async () => {
    const [startsAt, endsAt] = [at(10 * minute).toISOString(), at(20 * minute).toISOString()];
    await world.put("window", { when: "every 1m", startsAt, endsAt });
    await world.clock.advance(10 * hour);
    await world.tick();
    await world.work();
    const done = await backfill("window");
    expect(done).toMatchObject({ accepted: 9, existing: 1 });
    expect((await backfilled()).map(({ occurrence }) => occurrence)).toEqual(minutesFrom(10, 18));
  });

  test("a backfill includes both ends", async () => {
    await outage();
    expect(await backfill("minutes", { from: at(minute), to: at(minute) })).toMatchObject({ accepted: 1 });
    const between = { from: at(minute + 1), to: at(2 * minute - 1) };
    expect(await backfill("minutes", between)).toMatchObject({ accepted: 0, existing: 0 });
  });

  test("a backfill follows the versions that were in force, each for its time", async () => {
    await world.put("mixed", { when: "every 10m" });
    await world.clock.advance(35 * minute);
    await world.put("mixed", { when: "every 20m" });
    await world.clock.advance(45 * minute);
    await world.patch("mixed", { payload: "new" });
    await world.clock.advance(5 * hour);
    await world.tick();
    await world.work();
    world.delivered.length = 0;
    const ran = (await world.jobs())
      .filter(({ state }) => state === "succeeded")
      .map((job) => job.occurrence);
    await backfill("mixed", { to: at(2 * hour) });
    const due = [10, 20, 30, 55, 75, 95, 115].map((n) => at(n * minute));
    const missing = due.filter((each) => !ran.some((other) => other.getTime() === each.getTime()));
    expect((await backfilled()).map(({ occurrence }) => occurrence)).toEqual(missing);
    await world.work();
    expect(world.delivered.map(({ payload }) => payload)).toEqual(missing.map(() => "new"));
  });

  test("a backfill takes the occurrences that a pause skipped, after the pause", async () => {
    await world.put("minutes", { when: "every 1m" });
    await world.pause("minutes");
    await world.clock.advance(hour);
    await world.tick();
    await world.resume("minutes");
    await world.work();
    const ran = world.delivered.length;
    expect(ran).toBeGreaterThan(0);
    expect(await backfill("minutes")).toMatchObject({ accepted: 60 - ran, existing: ran });
  });

  test("a backfill of a held schedule leaves the occurrences under the hold to its end, and waits for that end", async () => {
    await outage();
    await world.pause("minutes");
    const since = world.clock.now();
    await world.clock.advance(hour);
    await world.tick();
    const done = await backfill("minutes", { from: at(9 * hour + 55 * minute), limit: 100 });
    expect(done.to).toEqual(since);
    expect(done.accepted).toBeGreaterThan(0);
    await world.work();
    expect(world.delivered).toEqual([]);
    await world.resume("minutes");
    await world.work();
    const delivered = world.delivered.map(({ occurrence }) => occurrence);
    expect(delivered.length).toBeGreaterThan(done.accepted);
    expect(new Set(delivered).size).toBe(delivered.length);
  });

  test("a backfill leaves occurrences that are not planned yet to the tick", async () => {
    await world.put("minutes", { when: "every 1m" });
    await world.tick();
    await world.clock.advance(hour);
    const done = await backfill("minutes");
    expect(done.to.getTime()).toBeLessThanOrEqual(at(3 * minute).getTime());
    expect(done.accepted).toBe(0);
    await world.tick();
    await backfill("minutes");
    await world.work();
    const occurrences = world.delivered.map(({ occurrence }) => occurrence);
    expect(occurrences).toHaveLength(60);
    expect(new Set(occurrences).size).toBe(60);
  });

  test("a backfill neither changes the cadence nor counts as an edit", async () => {
    await outage();
    const before = await world.sql`select version, updated_at from carillon.schedules`;
    await backfill("minutes", { to: at(hour) });
    expect(await world.sql`select version, updated_at from carillon.schedules`).toEqual(before);
    expect(
      await world.sql`select actor, subject, detail from carillon.audit where action = 'schedule.backfilled'`,
    ).toEqual([
      {
        actor: "ann",
        subject: "minutes",
        detail: { accepted: 60, existing: 0, from: at(0).toISOString(), to: at(hour).toISOString() },
      },
    ]);
  });

  test("a backfill takes the skipped occurrence of a single run, although an edit has moved the run by seconds since", async () => {
    await world.put("once", { when: `at ${at(minute).toISOString()}` });
    await world.tick();
    await world.sql`update carillon.jobs set state = 'skipped', reason = 'late', parcel_id = null, finished_at = due_at`;
    await world.clock.setNow(at(90 * second));
    await world.put("once", { when: `at ${at(70 * second).toISOString()}` });
    expect(await backfill("once")).toMatchObject({ accepted: 1, existing: 1 });
    expect(await backfilled()).toMatchObject([{ occurrence: at(minute) }]);
  });
});

describe("backfills at once", () => {
  test("concurrent backfills of the same range accept each occurrence once", async () => {
    await outage();
    const others = [1, 2, 3].map(() => connect({ DATABASE_URL: world.databaseUrl }));
    const done = await Promise.all(others.map((sql) => backfill("minutes", { to: at(5 * hour) }, sql)));
    await Promise.all(others.map((sql) => sql.end()));
    expect(done.map(({ accepted }) => accepted).sort((a, b) => a - b)).toEqual([0, 0, 300]);
    await world.clock.advance(second);
    await admitAll();
    await world.clock.advance(2 * second);
    await world.work();
    expect(world.delivered).toHaveLength(300);
  });

  test("concurrent backfills and admitting ticks lose no occurrence and run none twice", async () => {
    await outage();
    const others = [1, 2].map(() => connect({ DATABASE_URL: world.databaseUrl }));
    const steps = Array.from({ length: 10 }, (_, index) => at(index * 30 * minute));
    const filling = Promise.all(
      steps.map((from, index) =>
        backfill("minutes", { from, to: at((index + 2) * 30 * minute) }, others[index % 2]),
      ),
    );
    for (let index = 0; index < 8; index++) {
      await world.clock.advance(second);
      await admitAll();
    }
    const done = await filling;
    await Promise.all(others.map((sql) => sql.end()));
    await admitAll();
    await world.clock.advance(2 * minute);
    await world.work();
    expect(done.reduce((sum, { accepted }) => sum + accepted, 0)).toBe(330);
    expect((await backfilled()).map(({ occurrence }) => occurrence)).toEqual(minutesFrom(1, 330));
    expect(new Set(world.delivered.map(({ occurrence }) => occurrence)).size).toBe(world.delivered.length);
  });
});

describe("a refused backfill", () => {
  test("a backfill is refused before the schedule, before the oldest kept day, and in the future", async () => {
    await outage();
    const refusal = (params: Partial<BackfillParams>) =>
      backfill("minutes", params).catch((error: unknown) => error);
    expect(await refusal({ from: at(-1) })).toMatchObject({ kind: "impossible", faults: [{ path: "from" }] });
    expect(await refusal({ to: at(10 * hour + 1) })).toMatchObject({
      kind: "impossible",
      faults: [{ path: "to" }],
    });
    expect(await refusal({ from: at(2), to: at(1) })).toMatchObject({
      kind: "invalid",
      faults: [{ path: "to" }],
    });
    expect(await refusal({ key: "nobody" })).toMatchObject({ kind: "missing" });
    expect(await backfilled()).toEqual([]);
  });

  test("a backfill of a dropped day is refused, since its runs are forgotten", async () => {
    await world.put("daily", { when: "every 1d" });
    for (let days = 1; days <= 12; days++) {
      await world.clock.setNow(at(days * day));
      await world.tick({ retentionDays: 7 });
      await world.work();
    }
    const kept = new Date("2026-03-07T00:00:00Z");
    await expect(backfill("daily", { from: new Date(kept.getTime() - 1) })).rejects.toMatchObject({
      kind: "impossible",
      faults: [{ path: "from", message: expect.stringContaining(kept.toISOString()) }],
    });
    expect(await backfill("daily", { from: kept })).toMatchObject({ accepted: 0, existing: 8 });
  });
});
