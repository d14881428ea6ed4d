import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import { fireNow } from "../../lib/job-control/fire-now.ts";
import { purge } from "../../lib/retention/purge.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { dropPastDays } from "../support/drop-past-days.ts";
import { day, hour, minute } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";

const retentionDays = 2;

let world: Carillon;

beforeEach(async () => {
  world = await carillon({ roles: functionRoles });
});

afterEach(() => world.stop());

const deps = () => ({ sql: world.as.tick, log: world.log });
const bounds = {
  timeIsUp: () => false,
  note: (error: unknown) => {
    throw error;
  },
};

async function minutes(count: number): Promise<void> {
  for (let each = 0; each < count; each++) {
    await world.tick({ retentionDays });
    await world.work();
    await world.clock.advance(minute);
  }
  await world.tick({ retentionDays });
  await world.work();
}

/** A tick each half day, while only schedules of once a day are due. */
async function days(count: number): Promise<void> {
  for (let half = 0; half < count * 2; half++) {
    await world.clock.advance(12 * hour);
    await world.tick({ retentionDays });
    await world.work();
  }
}

const kept = async () => {
  const rows = await world.sql<{ key: string }[]>`select key from carillon.schedules order by key`;
  return rows.map(({ key }) => key);
};

async function rowsOf(table: string): Promise<number> {
  const [row] = await world.sql<
    { count: number }[]
  >`select count(*)::int as count from carillon.${world.sql(table)}`;
  return row?.count ?? -1;
}

describe("schedules that are over", () => {
  test("schedules that are over are kept for the retention and purged then with all of their rows; others are kept", async () => {
    const often = { when: "every 1m" };
    await world.put("once", { when: "in 2m", tags: ["a", "b"], group: "g" });
    await world.put("deleted", { when: "every 1h", tags: ["a"] });
    await world.put("deleted unfired", { when: "in 5d" });
    await world.put("fired up", { ...often, maxFires: 2 });
    await world.put("past its end", { ...often, endsAt: "2026-03-02T10:03:00Z" });
    await world.put("listed", { when: ["at 2026-03-02T10:01", "at 2026-03-02T10:03"] });
    await world.put("paused", { when: "in 2m" });
    await world.pause("paused");
    await world.put("daily", { when: "every 1d" });
    await world.put("far", { when: "at 2099-12-31T23:59", tags: ["a"] });
    const all = await kept();
    await minutes(5);
    await world.remove("deleted");
    await world.remove("deleted unfired");
    await days(2);
    expect(await kept()).toEqual(all);
    await days(5);
    expect(await kept()).toEqual(["daily", "far", "paused"]);
    const ids = world.sql`select id from carillon.schedules`;
    for (const table of ["schedule_versions", "holds", "passed_over"])
      expect(
        await world.sql`select from carillon.${world.sql(table)} where schedule_id not in (${ids})`,
        table,
      ).toEqual([]);
    expect(await world.sql`select tag, key from carillon.schedule_tags`).toEqual([{ tag: "a", key: "far" }]);
    expect(await rowsOf("over_schedules")).toBe(0);
    expect(world.log.lines.filter(({ event }) => event === "tick.purged").length).toBeGreaterThan(0);
    expect(await world.sql`select schedules::int, held::int from carillon.schedule_counts`).toEqual([
      { schedules: 3, held: 1 },
    ]);
    expect((await world.put("once", { when: "in 2m" })).change).toBe("created");
  });

  test("a schedule is kept while a job of its own is kept, however long ago it ended", async () => {
    await world.put("fired again", { when: "in 1m" });
    await world.put("not again", { when: "in 1m" });
    await minutes(2);
    await days(3);
    await fireNow({ sql: world.sql, queue: world.queue }, { key: "fired again", caller: { name: "ann" } });
    await world.work();
    await days(2);
    expect(await kept()).toEqual(["fired again"]);
    await days(4);
    expect(await kept()).toEqual([]);
  });

  test("a schedule is kept while the day of a job of its own is kept for another schedule's job", async () => {
    await world.put("quick", { when: "in 1m" });
    await world.put("held up", { when: "at 2026-03-02T10:01" });
    await world.tick({ retentionDays });
    await world.clock.advance(30 * minute);
    await world.work();
    await world.sql`
      update carillon.jobs set state = 'waiting', parcel_id = 77, finished_at = null, started_at = null, attempt = 0
      where schedule_id = (select id from carillon.schedules where key = 'held up')`;
    await world.sql`
      insert into carillon.parcels (id, ready_at, offer_at, shard, queue, occurrences, schedule_ids)
      select 77, '2026-06-01', '2026-06-01', shard, queue, array['2026-03-02T10:01Z']::timestamptz[], array[id]
      from carillon.schedules where key = 'held up'`;
    await days(6);
    expect(await kept()).toEqual(["held up", "quick"]);
    expect(await rowsOf("open_days")).toBe(1);
  });

  test("a schedule is not purged while ticks lag behind: its due occurrences have not become jobs yet", async () => {
    await world.put("lagging", { when: "in 1m" });
    await world.clock.advance(8 * day);
    // The schedule is kept even if the day of the occurrence is dropped: the job would belong to a
    // purged schedule, and never run.
    await world.sql`drop table carillon.jobs_20260301, carillon.jobs_20260302, carillon.jobs_20260303`;
    await purge(deps(), { retentionDays, auditRetentionDays: null }, bounds);
    expect(await kept()).toEqual(["lagging"]);
    await minutes(1);
    expect(await world.jobs("lagging")).toMatchObject([{ state: "succeeded" }]);
    expect(await kept()).toEqual(["lagging"]);
  });

  test("an edit brings a schedule that is over back before it is purged", async () => {
    await world.put("twice", { when: "every 1m", maxFires: 1 });
    await minutes(3);
    await days(3);
    await world.patch("twice", { maxFires: 5 });
    await days(2);
    expect(await kept()).toEqual(["twice"]);
    expect(await readSchedule(world.sql, "twice")).toMatchObject({ version: 2 });
  });

  test("the purge works in steps, and a tick reads some tens of thousands of schedules at most", async () => {
    await world.sql`
      insert into carillon.schedules (key, shard, queue, target_kind, deleted_at, created_at, created_by, updated_at, updated_by)
      select 'old:' || n, 1, 'fast', 'queue', carillon.clock(), carillon.clock(), 'a', carillon.clock(), 'a' from generate_series(1, 12000) n`;
    await world.sql`
      insert into carillon.schedules (key, shard, queue, target_kind, created_at, created_by, updated_at, updated_by)
      select 'live:' || n, 1, 'fast', 'queue', carillon.clock(), 'a', carillon.clock(), 'a' from generate_series(1, 30000) n`;
    await world.clock.advance(5 * day);
    await world.sql`update carillon.shards set watermark_at = carillon.clock()`;
    await dropPastDays(world, retentionDays);
    const params = { retentionDays, auditRetentionDays: null };
    expect(await purge(deps(), params, bounds)).toMatchObject({ schedules: 12_000 });
    expect(await world.sql`select place::int from carillon.purges`).toEqual([{ place: 30_000 }]);
    await purge(deps(), params, bounds);
    expect(await world.sql`select place::int from carillon.purges`).toEqual([{ place: 0 }]);
    expect(await rowsOf("schedules")).toBe(30_000);
  });
});

describe("the ledger and the audit", () => {
  test("ranges that were passed over are purged by their age, and the counts stay unchanged", async () => {
    await world.put("often", { when: "every 1m", catchUp: { policy: "skip" } });
    await world.clock.advance(hour);
    await world.tick({ retentionDays });
    expect(await rowsOf("passed_over")).toBe(1);
    await world.patch("often", { when: "every 1d" });
    await days(5);
    expect(await rowsOf("passed_over")).toBe(0);
    expect(
      await world.sql`select coalesce(sum(skipped), 0)::int as skipped from carillon.minutes`,
      "nothing taken back",
    ).toEqual([{ skipped: 0 }]);
  });

  test("the audit has a retention of its own, and none if it is kept for ever", async () => {
    await world.put("one", { when: "every 1d" });
    await world.clock.advance(33 * day);
    await world.put("two", { when: "every 1d" });
    const subjects = async () =>
      (await world.sql<{ subject: string }[]>`select subject from carillon.audit order by id`).map(
        (row) => row.subject,
      );
    const purged = (auditRetentionDays: number | null) =>
      purge(deps(), { retentionDays, auditRetentionDays }, bounds);
    await purged(null);
    await purged(34);
    expect(await subjects()).toEqual(["one", "two"]);
    expect(await purged(32)).toMatchObject({ auditEntries: 1 });
    await world.clock.advance(29 * day);
    // An attacker with the tick's rights can delete no entry of the last thirty days.
    expect(await purged(0)).toMatchObject({ auditEntries: 0 });
    expect(await subjects()).toEqual(["two"]);
  });
});
