import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readCalendarRules } from "../../lib/cadence/calendar-rules.ts";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { putCalendar } from "../../lib/rules/calendar-edits.ts";
import { readStats } from "../../lib/stats/stats.ts";
import { failed } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { hour, minute, second } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon({ roles: functionRoles });
  await world.tick();
});

afterEach(() => world.stop());

const stats = () => readStats(world.as.api);

/** The expected counters, by counting everything. */
async function counted() {
  const [row] = await world.sql<{ total: number; paused: number }[]>`
    select count(*)::int as total, count(held_since)::int as paused from carillon.schedules where deleted_at is null`;
  const states = await world.sql<{ state: string; jobs: number }[]>`
    select case when reason = 'missed' then 'missed' else state::text end as state, count(*)::int as jobs from carillon.jobs group by 1`;
  return { ...row, jobs: Object.fromEntries(states.map(({ state, jobs }) => [state, jobs])) };
}

describe("the counts of jobs", () => {
  test("The counts of jobs are complete, both before the tick rolls up the latest ones and after", async () => {
    for (const key of ["one", "two", "three"]) await world.put(key, { when: "in 1m" });
    await world.put("fails", {
      when: "in 1m",
      retry: { attempts: 2, base: "1s", max: "1s", jitter: "none" },
    });
    await world.put("dies", { when: "in 1m", retry: { attempts: 1 } });
    world.outcome = ({ key, attempt }) =>
      key === "dies" || (key === "fails" && attempt === 0) ? failed("no") : { kind: "done" };
    await world.clock.advance(minute + 400);
    await world.work();
    await world.clock.advance(2 * second);
    await world.work();
    const expected = { fired: 5, succeeded: 4, failed: 2, dead: 1, cancelled: 0, skipped: 0, missed: 0 };
    expect((await stats()).lastHour).toMatchObject(expected);
    await world.tick();
    expect((await stats()).lastHour).toMatchObject(expected);
    expect(await world.sql`select from carillon.tallies`).toEqual([]);
    expect((await stats()).lastDay).toMatchObject(expected);
  });

  test("The counts of the last hour leave out what is older than an hour, and those of the last day still have it", async () => {
    await world.put("one", { when: "in 1m" });
    await world.clock.advance(minute);
    await world.work();
    await world.tick();
    await world.clock.advance(hour + minute);
    expect((await stats()).lastHour.succeeded).toBe(0);
    expect((await stats()).lastDay.succeeded).toBe(1);
    await world.clock.advance(48 * hour);
    await world.tick();
    expect(await world.sql`select from carillon.minutes`).toEqual([]);
    expect(await world.sql`select from carillon.minute_lateness`).toEqual([]);
  });

  test("The counts include passed-over occurrences, single and as ranges, and cancelled jobs", async () => {
    await world.put("often", { when: "every 1m" });
    await world.put("latest", { when: "every 10m" });
    await world.tick();
    await world.work();
    await world.clock.advance(2 * hour);
    await world.tick();
    const { lastDay } = await stats();
    const [ranges] = await world.sql<{ missed: number }[]>`
      select coalesce(sum(count), 0)::int as missed from carillon.passed_over where reason = 'missed'`;
    const { jobs } = await counted();
    expect(ranges?.missed).toBeGreaterThan(50);
    expect(lastDay.missed).toBe((jobs["missed"] ?? 0) + (ranges?.missed ?? 0));
    await world.remove("often");
    await world.remove("latest");
    await world.clock.advance(minute);
    await world.work();
    const { jobs: after } = await counted();
    expect(after["cancelled"]).toBeGreaterThan(0);
    expect((await stats()).lastDay.cancelled).toBe(after["cancelled"]);
    expect((await stats()).lastDay.succeeded).toBe(after["succeeded"] ?? 0);
  });

  test("A job that an edit withdraws and plans again is counted once, and a withdrawn job not at all", async () => {
    await world.put("often", { when: "every 1s" });
    for (let n = 0; n < 5; n++) await world.patch("often", { tags: [`n${n}`] });
    expect(Object.keys((await counted()).jobs)).toEqual(["waiting"]);
    expect((await stats()).lastHour.fired).toBe((await counted()).jobs["waiting"]);
    await world.tick();
    await world.clock.advance(30 * second);
    await world.pause("often");
    expect((await counted()).jobs).toEqual({ waiting: 30 });
    expect((await stats()).lastHour.fired).toBe(30);
    await world.tick();
    expect((await stats()).lastHour.fired).toBe(30);
  });

  test("The counts of an hour are not negative if a job was counted before it and withdrawn in it", async () => {
    await world.put("often", { when: "every 1s" });
    await world.clock.advance(minute);
    await world.sql`update carillon.tallies set at = at - interval '2 hours'`;
    await world.remove("often");
    expect((await stats()).lastHour.fired).toBe(0);
    expect((await stats()).lastDay.fired).toBeGreaterThan(0);
  });

  test("Days that a calendar excludes are counted once, however often they are planned, single and as ranges", async () => {
    const read = readCalendarRules({ dates: ["2026-03-02"] });
    if (!read.ok) throw new Error("The calendar is not understood.");
    const params = { name: "c", body: { description: null, rules: read.rules }, caller: { name: "ann" } };
    await putCalendar({ sql: world.sql, queue: world.queue }, params);
    await world.put("singly", { when: "* * * * *", calendar: { name: "c" } });
    await world.put("ranges", { when: "*/5 * * * * *", calendar: { name: "c" } });
    for (let n = 0; n < 3; n++) {
      for (const key of ["singly", "ranges"]) await world.patch(key, { tags: [`n${n}`] });
      await world.tick();
      await world.clock.advance(minute);
    }
    const [ranges] = await world.sql<{ skipped: number }[]>`
      select coalesce(sum(count), 0)::int as skipped from carillon.passed_over`;
    const { jobs } = await counted();
    expect(jobs["skipped"]).toBeGreaterThan(0);
    expect(ranges?.skipped).toBeGreaterThan(0);
    expect((await stats()).lastHour.skipped).toBe((jobs["skipped"] ?? 0) + (ranges?.skipped ?? 0));
  });

  test("The counts include jobs that are skipped at the claim", async () => {
    await world.put("strict", { when: "in 1m", deadline: "10s" });
    await world.clock.advance(2 * minute);
    await world.work();
    expect(await counted()).toMatchObject({ jobs: { skipped: 1 } });
    expect((await stats()).lastHour).toMatchObject({ skipped: 1, succeeded: 0 });
  });
});

describe("lateness", () => {
  test("Lateness is shown by percentiles, within a twentieth", async () => {
    for (let n = 0; n < 10; n++) await world.put(`on-time-${n}`, { when: "in 1m" });
    await world.clock.advance(minute + 250);
    await world.work();
    const { lateness } = (await stats()).lastHour;
    expect(lateness.jobs).toBe(10);
    expect(lateness.p50Ms).toBeGreaterThanOrEqual(237);
    expect(lateness.p50Ms).toBeLessThanOrEqual(263);
  });

  test("Lateness is that of the first start only", async () => {
    await world.put("again", {
      when: "in 1m",
      retry: { attempts: 2, base: "10m", backoff: "fixed", jitter: "none" },
    });
    world.outcome = ({ attempt }) => (attempt === 0 ? failed("no") : { kind: "done" });
    await world.clock.advance(minute);
    await world.work();
    await world.clock.advance(10 * minute);
    await world.work();
    expect((await stats()).lastHour).toMatchObject({ succeeded: 1, lateness: { jobs: 1, maxMs: 0 } });
  });
});

describe("the rows of a settle", () => {
  test("A settle counts no lateness for a job that has begun before", async () => {
    await world.put("again", {
      when: "in 1m",
      retry: { attempts: 3, base: "10m", backoff: "fixed", jitter: "none" },
    });
    world.outcome = () => failed("no");
    await world.clock.advance(minute);
    await world.work();
    await world.clock.advance(10 * minute);
    await world.tick();
    expect(await world.sql`select from carillon.tallies`).toEqual([]);
    await world.work();
    expect(
      await world.sql`select succeeded, failed, dead, late_buckets as late from carillon.tallies`,
    ).toEqual([{ succeeded: 0, failed: 1, dead: 0, late: null }]);
  });

  test("A settle counts the lateness of a job whose first worker never answered", async () => {
    await world.put("alone", { when: "in 1m", target: { handler: "slow" } });
    await world.tick();
    await world.clock.advance(minute);
    const [parcel] = await world.sql<{ id: string }[]>`select id from carillon.parcels`;
    await claimParcel(world.sql, parcel?.id ?? "", 30 * second);
    world.queue.take("slow");
    await world.clock.advance(31 * second);
    await world.tick();
    expect(await world.jobs()).toMatchObject([{ attempt: 1 }]);
    expect((await stats()).lastHour.lateness).toMatchObject({ jobs: 1, maxMs: 0 });
    for (let n = 0; n < 3; n++) {
      await world.clock.advance(minute);
      await world.tick();
      await world.work();
    }
    expect((await stats()).lastHour).toMatchObject({ succeeded: 1, lateness: { jobs: 1 } });
  });
});

describe("open work", () => {
  test("Open jobs are counted by state, with the oldest due one", async () => {
    await world.put("due", { when: "in 1m" });
    await world.put("later", { when: "in 2m" });
    await world.put("held", { when: "in 1m" });
    await world.put("dies", { when: "in 1s", retry: { attempts: 1 } });
    await world.put("fails", {
      when: "in 1s",
      retry: { attempts: 5, base: "1h", backoff: "fixed", jitter: "none" },
    });
    world.outcome = () => failed("no");
    await world.clock.advance(second);
    await world.work();
    const dueAt = new Date(world.clock.now().getTime() + minute - second);
    await world.clock.advance(90 * second);
    const { standing } = await stats();
    expect(standing).toMatchObject({
      waiting: 4,
      due: 2,
      ahead: 1,
      running: 0,
      retrying: 1,
      oldestDueAt: dueAt,
      dead: { count: 1, more: false },
      backlog: { count: 0, more: false },
    });
    expect(standing.now.getTime() - (standing.rolledUpAt?.getTime() ?? 0)).toBe(91 * second);
    await world.tick();
    expect((await stats()).standing.rolledUpAt).toEqual(standing.now);
  });
});
