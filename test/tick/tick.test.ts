import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { connect } from "../../lib/db/connect.ts";
import { tick, tickDefaults } from "../../lib/tick/tick.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, hour, minute, second } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const occurrences = async (key?: string) => (await world.jobs(key)).map(({ occurrence }) => occurrence);
const planned = () => world.sql`select due_at, occurrence, version from carillon.plan order by due_at`;

/** Each job is in exactly one parcel, the one it names. */
async function expectEachJobInOneParcel(): Promise<void> {
  const astray = await world.sql`
    select j.occurrence, j.schedule_id, array_agg(p.id) as parcels from carillon.jobs j
    left join carillon.parcels p on exists (
      select from unnest(p.occurrences, p.schedule_ids) k (o, s) where k.o = j.occurrence and k.s = j.schedule_id)
    where j.state = 'waiting' group by j.occurrence, j.schedule_id, j.parcel_id having array_agg(p.id) <> array[j.parcel_id]`;
  expect(astray).toEqual([]);
}

/**
 * Loads its own modules: the files of a run share modules, and this spy must not count in other
 * tests.
 */
async function tickThatTellsHowOftenItUnfolds() {
  const instants = "../../lib/plan/instants.ts";
  vi.doMock(instants, { spy: true });
  vi.resetModules();
  onTestFinished(() => {
    vi.doUnmock(instants);
    vi.resetModules();
  });
  const { tick: watchedTick } = await import("../../lib/tick/tick.ts");
  const { unfold } = await import("../../lib/plan/instants.ts");
  return { watchedTick, unfold };
}

describe("what a tick makes", () => {
  test("A tick makes jobs of all occurrences up to the horizon at once, and plans the first beyond it", async () => {
    await world.put("often", { when: "every 1m" });
    await world.tick();
    expect(await occurrences()).toEqual([at("10:01:00"), at("10:02:00"), at("10:03:00")]);
    expect(await planned()).toMatchObject([{ due_at: at("10:01:00") }, { due_at: at("10:04:00") }]);
    await expectEachJobInOneParcel();
  });

  test("A tick makes jobs of all occurrences of a cron up to the horizon at once", async () => {
    await world.put("often", { when: "* * * * *" });
    await world.tick();
    expect(await occurrences()).toEqual([at("10:01:00"), at("10:02:00"), at("10:03:00")]);
    expect((await planned()).at(-1)).toMatchObject({ due_at: at("10:04:00") });
  });

  test("A tick makes nothing twice, however often it runs within its minute or after the clock went back", async () => {
    await world.put("often", { when: "every 1m" });
    for (const moved of [0, 20 * second, -10 * second, 0]) {
      await world.clock.advance(moved);
      await world.tick();
    }
    expect(await occurrences()).toEqual([at("10:01:00"), at("10:02:00"), at("10:03:00")]);
    await world.clock.advance(minute);
    await world.tick();
    expect(await occurrences()).toHaveLength(4);
    await expectEachJobInOneParcel();
  });

  test("A tick puts jobs due together into one parcel of their queue, up to 250 fast and 10 slow ones", async () => {
    const many = Array.from({ length: 12 }, (_, index) => index);
    for (const index of many)
      await world.put(`slow-${index}`, { when: "at 2026-03-02T10:30", target: { handler: "greet" } });
    for (const index of many) await world.put(`fast-${index}`, { when: "at 2026-03-02T10:30" });
    await world.sql`update carillon.schedules set shard = 2`;
    await world.sql`update carillon.plan set shard = 2`;
    await world.clock.setNow(at("10:29:00"));
    await world.tick();
    const parcels = await world.sql`
      select queue::text, cardinality(occurrences) as jobs from carillon.parcels order by queue, 2 desc`;
    expect(parcels.map(({ queue, jobs }) => [queue, jobs])).toEqual([
      ["fast", 12],
      ["slow", 10],
      ["slow", 2],
    ]);
    await expectEachJobInOneParcel();
  });

  test("A tick computes a cron once per cadence and planned occurrence of a batch, not once per schedule", async () => {
    for (let index = 0; index < 48; index++)
      await world.put(`cron-${index}`, { when: index % 2 === 0 ? "* * * * *" : "*/2 * * * *" });
    await world.sql`update carillon.schedules set shard = 7`;
    await world.sql`update carillon.plan set shard = 7`;
    const { watchedTick, unfold } = await tickThatTellsHowOftenItUnfolds();
    const { sql, queue, log } = world;
    expect(await watchedTick({ sql, queue, log }, tickDefaults, () => false)).toMatchObject({
      jobs: 24 * 3 + 24,
    });
    expect(unfold).toHaveBeenCalledTimes(2);
  });
});

describe("batches", () => {
  test("A tick runs batches until nothing is due", async () => {
    for (let index = 0; index < 40; index++) await world.put(`k${index}`, { when: "in 4m" });
    await world.clock.advance(2 * minute);
    expect(await world.tick({ batchMax: 1 })).toMatchObject({ jobs: 40, finished: true });
    expect(await world.jobs()).toHaveLength(40);
    await expectEachJobInOneParcel();
  });

  test("A batch takes fewer plan rows if their short intervals would make too many jobs", async () => {
    for (let n = 0; n < 200; n++) await world.put(`often-${n}`, { when: "every 1s" });
    await world.sql`update carillon.schedules set shard = 0`;
    await world.sql`update carillon.plan set shard = 0`;
    const { batches, jobs } = await world.tick();
    expect(jobs).toBe(200 * 180);
    expect(batches).toBe(2);
  });

  test("A batch never ends between two plan rows of one schedule and instant: the later one may be the row of the current version", async () => {
    await world.put("edited", { when: "every 5m" });
    await world.patch("edited", { payload: 2 });
    await world.patch("edited", { payload: 3 });
    expect(await planned()).toMatchObject([{ version: 1 }, { version: 2 }, { version: 3 }]);
    await world.clock.advance(4 * minute);
    await world.tick({ batchMax: 1 });
    expect(await world.jobs()).toMatchObject([{ occurrence: at("10:05:00"), version: 3 }]);
  });

  test("A batch with an occurrence whose job exists already makes no second job and does not fail", async () => {
    await world.put("often", { when: "every 1m" });
    await world.tick();
    // As after an edit that planned an occurrence again whose job exists.
    await world.sql`update carillon.shards set watermark_at = watermark_at - interval '2 minutes', watermark_schedule = 0`;
    await world.sql`
      insert into carillon.plan (due_at, occurrence, schedule_id, every_ms, version, shard)
      select ${at("10:02:00")}, ${at("10:02:00")}, schedule_id, every_ms, version, shard from carillon.plan order by due_at limit 1`;
    await world.tick();
    expect(await occurrences()).toEqual([at("10:01:00"), at("10:02:00"), at("10:03:00")]);
  });

  test("Batches make progress even if all of their rows are of older versions", async () => {
    for (let index = 0; index < 8; index++) await world.put(`k${index}`, { when: "every 5m" });
    for (let index = 0; index < 8; index++) await world.remove(`k${index}`);
    await world.clock.advance(4 * minute);
    const ticked = await world.tick({ batchMax: 1 });
    expect(ticked).toMatchObject({ jobs: 0, finished: true });
    expect(ticked.batches).toBeLessThanOrEqual(16 + 8);
  });

  test("A tick runs no more batches when time is up, and the next tick continues there", async () => {
    for (let index = 0; index < 40; index++) await world.put(`k${index}`, { when: "in 4m" });
    await world.clock.advance(2 * minute);
    let looks = 0;
    const ticked = await tick(world, { ...tickDefaults, batchMax: 1, lanes: 1 }, () => ++looks > 10);
    expect(ticked).toMatchObject({ finished: false, batches: 10 });
    expect(ticked.jobs).toBeLessThan(40);
    expect(await world.tick()).toMatchObject({ jobs: 40 - ticked.jobs, finished: true });
    await expectEachJobInOneParcel();
  });
});

describe("several ticks at once", () => {
  test.each([2, 8])("%i concurrent ticks make the same jobs as one", async (ticks) => {
    for (let index = 0; index < 60; index++)
      await world.put(`k${index}`, { when: index % 2 === 0 ? "every 20s" : "* * * * *" });
    const pools = Array.from({ length: ticks }, () =>
      connect({ DATABASE_URL: world.databaseUrl }, { max: 3 }),
    );
    try {
      const run = () =>
        Promise.all(
          pools.map((sql) => tick({ ...world, sql }, { ...tickDefaults, batchMax: 2 }, () => false)),
        );
      const first = await run();
      expect(first.reduce((sum, { jobs }) => sum + jobs, 0)).toBe(30 * 9 + 30 * 3);
      await world.clock.advance(minute);
      await run();
    } finally {
      for (const sql of pools) await sql.end();
    }
    expect(await world.jobs()).toHaveLength(30 * 12 + 30 * 4);
    await expectEachJobInOneParcel();
  });
});

describe("a tick that comes late", () => {
  test("A tick up to two minutes late makes every job", async () => {
    await world.put("often", { when: "every 30s" });
    await world.tick();
    await world.clock.advance(180 * second + 119 * second);
    await world.tick();
    expect((await world.jobs()).every(({ state }) => state === "waiting")).toBe(true);
    expect(await occurrences()).toHaveLength(Math.floor((180 + 119 + 180) / 30));
  });

  test.each(["every 1h", "0 * * * *"])(
    "A late tick runs the newest missed occurrence of %s, and notes each of the others",
    async (when) => {
      await world.put("hourly", { when });
      await world.clock.setNow(at("15:30:00"));
      await world.tick();
      expect(
        (await world.jobs()).map(({ occurrence, state, reason }) => [occurrence, state, reason]),
      ).toEqual([
        ...["11", "12", "13", "14"].map((hours) => [at(`${hours}:00:00`), "skipped", "missed"]),
        [at("15:00:00"), "waiting", null],
      ]);
      expect((await planned()).at(-1)).toMatchObject({ due_at: at("16:00:00") });
    },
  );

  test.each(["every 1m", "* * * * *"])(
    "A late tick notes many missed occurrences of %s as one range with its count",
    async (when) => {
      await world.put("often", { when });
      await world.clock.advance(hour);
      await world.tick();
      // 10:58 is exactly two minutes old, which is not yet missed; 10:57 is the newest missed one.
      expect(await occurrences()).toEqual(
        ["10:57:00", "10:58:00", "10:59:00", "11:00:00", "11:01:00", "11:02:00", "11:03:00"].map(at),
      );
      expect(await world.sql`select from_at, to_at, count, more, reason from carillon.passed_over`).toEqual([
        { from_at: at("10:01:00"), to_at: at("10:56:00"), count: "56", more: false, reason: "missed" },
      ]);
    },
  );

  test("A late tick still runs one-time schedules that were due a minute or hours ago", async () => {
    await world.put("once", { when: "in 10m" });
    await world.clock.advance(6 * hour);
    await world.tick();
    await world.work();
    expect(await world.jobs()).toMatchObject([{ occurrence: at("10:10:00"), state: "succeeded" }]);
  });
});

describe("a shard that fails", () => {
  test("A failing shard does not stop the others, and is reported at the end", async () => {
    for (let index = 0; index < 32; index++) await world.put(`k${index}`, { when: "in 4m" });
    await world.clock.advance(2 * minute);
    await world.sql`delete from carillon.shards where id = 4`;
    await expect(world.tick()).rejects.toThrow("Shard 4 does not exist");
    expect(await world.jobs()).toHaveLength(30);
  });

  test("A shard whose far rows cannot be brought near does not stop the others, and the rows are set aside", async () => {
    for (let index = 0; index < 32; index++) await world.put(`k${index}`, { when: "at 2026-03-06T12:00" });
    await world.sql.unsafe(`
      create function refuse() returns trigger language plpgsql as $$ begin
        if old.shard = 4 then raise exception 'shard 4 is broken'; end if; return old; end $$;
      create trigger refuse before delete on carillon.plan_far for each row execute function refuse()`);
    await world.clock.setNow("2026-03-06T11:58:00Z");
    await world.tick();
    expect(await world.jobs()).toHaveLength(30);
    expect(await world.sql`select from carillon.quarantine where consumer = 'plan'`).toHaveLength(2);
    await world.sql.unsafe("drop trigger refuse on carillon.plan_far");
    await world.clock.advance(2 * minute);
    await world.tick();
    expect(await world.jobs()).toHaveLength(32);
  });
});
