import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { bringNear } from "../../lib/tick/housekeeping/bring-near.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { dropPastDays } from "../support/drop-past-days.ts";
import { at, day, hour, minute, monday } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const daysOf = async (table: string) => {
  const rows = await world.sql<{ day: string }[]>`
    select right(c.relname, 8) as day from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = ${`carillon.${table}`}::regclass order by 1`;
  return rows.map((row) => row.day);
};

describe("days", () => {
  test("Days are attached from yesterday to three days ahead, for plan, jobs and attempts, and each once", async () => {
    await world.clock.advance(2 * day);
    await Promise.all([world.tick(), world.tick()]);
    for (const table of ["jobs", "attempts"])
      expect(await daysOf(table)).toEqual([
        "20260301",
        "20260302",
        "20260303",
        "20260304",
        "20260305",
        "20260306",
        "20260307",
      ]);
    expect((await daysOf("plan")).at(-1)).toBe("20260307");
  });

  test("Days of the plan are dropped a day after every watermark has passed them", async () => {
    await world.clock.setNow("2026-03-04T10:00:00Z");
    await world.tick();
    expect(await daysOf("plan")).toEqual(["20260303", "20260304", "20260305", "20260306", "20260307"]);
    await world.sql`update carillon.shards set watermark_at = ${at(0)} where id = 9`;
    await world.sql`select carillon.attach_days('2026-03-01', '2026-03-02')`;
    await dropPastDays(world, 30);
    expect(await daysOf("plan")).toContain("20260302");
  });

  test.each(["23:56:59", "23:57:30", "23:59:59.999"])(
    "Days are never dropped by the tick that attached them, even at %s",
    async (time) => {
      await world.clock.setNow(`2026-03-03T${time}Z`);
      await world.tick();
      await world.tick();
      const before = await daysOf("plan");
      expect(before).toContain("20260302");
      expect(world.log.lines.filter(({ event }) => event === "tick.days-dropped").length).toBeLessThanOrEqual(
        1,
      );
    },
  );

  test("Days of jobs are dropped with their attempts after the retention, which counts from the end of the last job that waits", async () => {
    await world.put("done", { when: "in 10m" });
    await world.put("stuck", { when: "at 2026-03-03T12:00" });
    await world.tick();
    await world.clock.setNow(at("10:10:00"));
    await world.tick();
    await world.work();
    await world.clock.setNow("2026-03-03T12:00:00Z");
    await world.tick();
    await world.clock.setNow("2026-03-12T00:00:00Z");
    await world.tick({ retentionDays: 7 });
    const kept = await daysOf("jobs");
    expect(kept).not.toContain("20260302");
    expect(kept).not.toContain("20260304");
    expect(kept).toContain("20260303");
    expect(await daysOf("attempts")).toEqual(kept);
    expect(await world.jobs()).toMatchObject([{ key: "stuck", state: "waiting" }]);
    await world.work();
    await world.clock.setNow("2026-03-19T23:59:00Z");
    await world.tick({ retentionDays: 7 });
    expect(await daysOf("jobs")).toContain("20260303");
    await world.clock.setNow("2026-03-20T00:00:00Z");
    await world.tick({ retentionDays: 7 });
    expect(await daysOf("jobs")).not.toContain("20260303");
  });

  test("Days are dropped a minute later if another session holds a lock, and the tick does its other work", async () => {
    await world.put("often", { when: "every 1m" });
    await world.clock.advance(20 * day);
    await world.sql.begin(async (tx) => {
      await tx`lock table carillon.jobs in access share mode`;
      await world.tick({ retentionDays: 7 });
    });
    expect(world.log.lines).toContainEqual({
      level: "warn",
      event: "tick.days-kept",
      fields: { error: "lock_timeout" },
    });
    expect((await world.jobs()).length).toBeGreaterThan(3);
    await world.tick({ retentionDays: 7 });
    expect(await daysOf("jobs")).not.toContain("20260302");
  });
});

describe("a plan far ahead", () => {
  const far = () => world.sql`select due_at from carillon.plan_far order by due_at`;

  test("An occurrence far ahead waits in the far table, comes near in time, and runs", async () => {
    await world.put("far", { when: "at 2026-03-12T09:00" });
    await world.put("edge", { when: "at 2026-03-05T00:00" });
    await world.put("near", { when: "at 2026-03-04T23:59:59.999" });
    expect(await far()).toMatchObject([
      { due_at: new Date("2026-03-05T00:00Z") },
      { due_at: new Date("2026-03-12T09:00Z") },
    ]);
    for (let today = 3; today <= 9; today++) {
      await world.clock.setNow(new Date(Date.parse(monday) + (today - 2) * day));
      await world.tick();
    }
    expect(await far()).toHaveLength(1);
    await world.clock.setNow("2026-03-10T00:00:00Z");
    await world.tick();
    expect(await far()).toHaveLength(0);
    await world.clock.setNow("2026-03-12T08:59:00Z");
    await world.tick();
    await world.clock.advance(minute);
    await world.work();
    const jobs = await world.jobs();
    expect(jobs.map(({ key, state }) => [key, state])).toEqual([
      ["near", "succeeded"],
      ["edge", "succeeded"],
      ["far", "succeeded"],
    ]);
  });

  test("Many far rows of one instant come near in bounded steps, and the near line waits at that instant for the last of them", async () => {
    const due = new Date("2026-03-10T00:00:00Z");
    await world.sql`
      insert into carillon.plan_far (due_at, occurrence, schedule_id, version, shard)
      select d, d, n, 1, 5 from generate_series(1, 250) n, lateral (select ${due}::timestamptz + (n / 240) * interval '1 hour' as d) d`;
    await world.sql`select carillon.attach_days('2026-03-05', '2026-03-13')`;
    await world.clock.setNow("2026-03-09T10:00:00Z");
    const near = async () => (await world.sql`select from carillon.plan where shard = 5`).length;
    const line = async () =>
      (await world.sql`select near_until from carillon.shards where id = 5`)[0]?.["near_until"];
    for (const moved of [100, 200]) {
      expect(await bringNear(world.sql, 5, { rowsMax: 100 })).toEqual({ moved: 100, more: true });
      expect(await near()).toBe(moved);
      expect(await line()).toEqual(due);
    }
    // An edit between two steps writes its row to the far table, because the line is still at this
    // instant.
    await world.sql`
      insert into carillon.plan_far (due_at, occurrence, schedule_id, version, shard) values (${due}, ${due}, 1000, 1, 5)`;
    expect(await bringNear(world.sql, 5, { rowsMax: 100 })).toEqual({ moved: 51, more: false });
    expect(await near()).toBe(251);
    expect(await line()).toEqual(new Date("2026-03-12T00:00:00Z"));
  });

  test("Each far row of one instant runs once, even if one step cannot move all of them and the steps stop in between", async () => {
    for (const n of [1, 2, 3, 4, 5]) await world.put(`year-${n}`, { when: "at 2026-03-10T00:00" });
    await world.sql`update carillon.schedules set shard = 5`;
    await world.sql`update carillon.plan_far set shard = 5`;
    await world.sql`select carillon.attach_days('2026-03-05', '2026-03-13')`;
    await world.clock.setNow("2026-03-09T10:00:00Z");
    await bringNear(world.sql, 5, { rowsMax: 2 });
    await world.remove("year-1");
    await world.put("year-6", { when: "at 2026-03-10T00:00" });
    await world.tick();
    await world.clock.setNow("2026-03-10T00:00:00Z");
    await world.tick();
    await world.work();
    expect(world.delivered.map(({ key }) => key).toSorted()).toEqual([2, 3, 4, 5, 6].map((n) => `year-${n}`));
  });
});

describe("a tick that comes days late", () => {
  test.each(["every 1h", "0 * * * *"])(
    "After 30 days without a tick, %s runs its newest missed occurrence, and the others are noted as a range",
    async (when) => {
      await world.put("hourly", { when });
      await world.put("once", { when: "at 2026-03-20T00:00" });
      await world.clock.advance(30 * day);
      await world.tick();
      const newest = new Date(Date.parse(monday) + 30 * day);
      const jobs = await world.jobs();
      // 10:00 is due now, and so not missed; the newest missed one is 09:00.
      expect(jobs.map(({ key, occurrence }) => [key, occurrence])).toEqual([
        ["once", new Date("2026-03-20T00:00Z")],
        ["hourly", new Date(newest.getTime() - hour)],
        ["hourly", newest],
      ]);
      expect(await world.sql`select from_at, to_at, count::int, more from carillon.passed_over`).toEqual([
        {
          from_at: at("11:00:00"),
          to_at: new Date(newest.getTime() - 2 * hour),
          count: 30 * 24 - 2,
          more: false,
        },
      ]);
      await world.work();
      expect((await world.jobs()).every(({ state }) => state === "succeeded")).toBe(true);
    },
  );

  test("After a hundred days without a tick, the missed occurrences of `* * * * *` are one range whose count stopped at its limit, and no job is lost", async () => {
    await world.put("often", { when: "* * * * *" });
    await world.clock.advance(100 * day);
    await world.tick();
    expect(await world.sql`select count::int, more from carillon.passed_over`).toEqual([
      { count: 10_000, more: true },
    ]);
    expect(await world.jobs()).toHaveLength(7);
  });
});
