import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { jobsOf } from "../../lib/history/job-history.ts";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import type { JobKey } from "../../lib/job/job-id.ts";
import { byPlace, type JobPlace, placeBehind, placeText, readPlace } from "../../lib/job/job-place.ts";
import { readJob } from "../../lib/job/read-job.ts";
import { backfillSchedule } from "../../lib/job-control/backfill.ts";
import { fireNow } from "../../lib/job-control/fire-now.ts";
import { handOver } from "../../lib/parcel/hand-over.ts";
import { failed } from "../../lib/target/delivery.ts";
import { admitBacklog, backlogDefaults } from "../../lib/tick/housekeeping/admit-backlog.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, hour, minute, second } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  await world.tick();
});

afterEach(() => world.stop());

const idOf = async (key: string) => (await readSchedule(world.sql, key))?.id ?? "";

/** Reads all pages of a history. */
async function history(id: string, limit = 2) {
  const items = [];
  for (let before: JobPlace | undefined; ; ) {
    const page = await jobsOf(world.sql, { id }, { limit, before });
    expect(page.items.length).toBeLessThanOrEqual(limit);
    items.push(...page.items);
    if (page.next === undefined) return items;
    expect(page.next).not.toEqual(before);
    before = page.next;
  }
}

/** Every stored job of the schedule, newest first, must be in its history. */
async function expectComplete(id: string): Promise<void> {
  const stored = await world.sql<Pick<JobKey, "occurrence" | "kind" | "n">[]>`
    select occurrence, kind, n from carillon.jobs where schedule_id = ${id}`;
  const told = (await history(id)).map(({ occurrence, kind, n }) => ({ occurrence, kind, n }));
  expect(told).toEqual([...stored].sort(byPlace));
}

const deps = () => ({ sql: world.sql, queue: world.queue });
const caller = { name: "ann" };

async function minutes(count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    await world.clock.advance(minute);
    await world.tick();
    await world.work();
  }
}

describe("a schedule's history", () => {
  test("A history goes newest first over edits, pauses and passed-over occurrences, in pages without a gap", async () => {
    await world.put("often", { when: "every 1m" });
    await minutes(3);
    await world.clock.advance(20 * second);
    await world.patch("often", { when: "every 40s" });
    await minutes(3);
    await world.patch("often", { payload: 1 });
    await minutes(1);
    await world.pause("often");
    await minutes(4);
    await world.resume("often");
    await minutes(1);
    await world.put("often", { when: "*/2 * * * *" });
    await minutes(3);
    await world.put("often", { when: "in 10s" });
    await minutes(1);
    const id = await idOf("often");
    expect((await world.jobs("often")).length).toBeGreaterThan(12);
    await expectComplete(id);
    expect((await history(id)).map(({ state }) => state)).toContain("skipped");
  });

  test("A history has a single run that was created seconds too late, and the jobs of the old cadence around it", async () => {
    await world.put("often", { when: "every 10s" });
    await minutes(1);
    await world.put("often", { when: "at 2026-03-02T10:00:35" });
    await world.work();
    await expectComplete(await idOf("often"));
  });

  test("The history of a deleted schedule does not mix with that of the next schedule of its key", async () => {
    await world.put("key", { when: "every 1m" });
    await minutes(2);
    const first = await idOf("key");
    await world.remove("key");
    await world.put("key", { when: "every 1m" });
    await minutes(2);
    const second = await idOf("key");
    expect(await history(first)).toMatchObject([{ occurrence: at(2 * minute) }, { occurrence: at(minute) }]);
    expect((await history(second)).map(({ state }) => state)).toEqual([
      "waiting",
      "waiting",
      "waiting",
      "succeeded",
      "succeeded",
    ]);
  });

  test("A history skips a pause of any length: the newest job before it is found at once", async () => {
    await world.put("seconds", { when: "every 1s" });
    await world.clock.advance(3 * second);
    await world.pause("seconds");
    await world.clock.advance(3 * hour);
    await world.tick();
    const { items, next } = await jobsOf(world.sql, { id: await idOf("seconds") }, { limit: 10 });
    expect(items.map(({ occurrence }) => occurrence)).toEqual([at(3_000), at(2_000), at(1_000)]);
    expect(next).toBeUndefined();
  });

  test("A history has the jobs at the end of a pause that the resume ran or recorded as skipped one by one", async () => {
    await world.put("minutes", { when: "every 1m" });
    await world.pause("minutes");
    await world.clock.advance(8 * minute + second);
    await world.tick();
    await world.resume("minutes");
    const found = (await history(await idOf("minutes"), 20)).map(({ occurrence, reason }) => [
      occurrence,
      reason,
    ]);
    expect(found.filter(([occurrence]) => Number(occurrence) <= at(8 * minute).getTime())).toEqual([
      [at(8 * minute), null],
      [at(7 * minute), null],
      [at(6 * minute), null],
      ...[5, 4, 3, 2, 1].map((n) => [at(n * minute), "paused"]),
    ]);
  });

  test("A history has all catch-up jobs of a resume, also those that leave the backlog later", async () => {
    await world.put("seconds", { when: "every 1s", catchUp: { policy: "all", limit: 500 } });
    await world.pause("seconds");
    await world.clock.advance(20 * minute);
    await world.tick();
    await world.resume("seconds");
    await world.clock.advance(second);
    await handOver(world.sql, world.queue, await admitBacklog(world, backlogDefaults));
    expect((await world.jobs("seconds")).length).toBeGreaterThan(500);
    const id = await idOf("seconds");
    const told = (await history(id, 1_000)).map(({ occurrence }) => occurrence);
    expect(told.reverse()).toEqual((await world.jobs("seconds")).map(({ occurrence }) => occurrence));
  });

  test("A history reads a bounded number of occurrences per page, and continues after a time without ticks", async () => {
    await world.put("seconds", { when: "every 1s" });
    await world.tick();
    await world.clock.advance(3 * hour);
    await world.tick();
    const id = await idOf("seconds");
    const first = await jobsOf(world.sql, { id }, { limit: 1_000 });
    expect(first.next).toBeDefined();
    const all = (await history(id, 1_000)).map(({ occurrence }) => occurrence.getTime());
    expect(all.filter((occurrence) => occurrence <= at(3 * minute).getTime())).toHaveLength(180);
    expect(new Set(all).size).toBe(all.length);
  });
});

describe("a schedule's history with jobs beside its cadence", () => {
  test("A history has all jobs outside the cadence, also of the same occurrence, in pages of any size", async () => {
    await world.put("minutes", { when: "every 1m" });
    await minutes(4);
    await world.clock.advance(30 * minute);
    await world.tick();
    for (let n = 0; n < 5; n++) await fireNow(deps(), { key: "minutes", caller });
    await backfillSchedule(deps(), {
      key: "minutes",
      from: at(0),
      to: world.clock.now(),
      limit: 100,
      caller,
    });
    await world.put("minutes", { when: "at 2026-03-05T10:00" });
    await fireNow(deps(), { key: "minutes", caller });
    const id = await idOf("minutes");
    await expectComplete(id);
    const all = await history(id, 1_000);
    expect(Object.keys(Object.groupBy(all, ({ kind }) => kind)).sort()).toEqual([
      "backfill",
      "cadence",
      "manual",
    ]);
    for (const limit of [1, 3, 7]) expect(await history(id, limit)).toEqual(all);
  });

  test("A history finds backfilled jobs in the middle of a long pause", async () => {
    await world.put("seconds", { when: "every 1s" });
    await world.pause("seconds");
    await world.clock.advance(3 * hour);
    await world.tick();
    await world.resume("seconds");
    const params = { key: "seconds", from: at(hour), to: at(hour + 20 * second), limit: 100, caller };
    expect(await backfillSchedule(deps(), params)).toMatchObject({ accepted: 21 });
    const kinds = (await history(await idOf("seconds"), 1_000)).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "backfill")).toHaveLength(21);
  });

  test("The last started job is found, however many jobs outside the cadence wait", async () => {
    await world.put("daily", { when: "every 1d" });
    await fireNow(deps(), { key: "daily", caller });
    await world.work();
    await world.clock.advance(second);
    for (let n = 0; n < 3; n++) await fireNow(deps(), { key: "daily", caller });
    expect(await readSchedule(world.sql, "daily")).toMatchObject({
      lastJob: { occurrence: at(0), kind: "manual" },
    });
  });

  test("A history no longer has the jobs of a day that was dropped", async () => {
    await world.put("daily", { when: "at 2027-01-01T00:00" });
    await fireNow(deps(), { key: "daily", caller });
    await world.work();
    await world.clock.setNow("2026-03-20T00:00:00Z");
    await world.tick({ retentionDays: 7 });
    expect(await history(await idOf("daily"))).toEqual([]);
    expect(await world.sql`select from carillon.jobs_beside`).toHaveLength(0);
  });
});

describe("a place in a list of jobs", () => {
  test("A place in a list of jobs is read back from its text, and from no other text", () => {
    const places: JobPlace[] = [
      { at: 0, kind: null, n: 0 },
      { at: -5, kind: null, n: 0 },
      placeBehind({ occurrence: at(0), kind: "manual", n: 49 }),
      placeBehind({ occurrence: at(0), kind: "backfill", n: 0 }),
    ];
    for (const place of places) expect(readPlace(placeText(place))).toEqual(place);
    for (const text of ["", "x", "01", "1-", "1-m", "1-x0", "1-m01", "1-m0-", "1e3", "1234567890123456"])
      expect(readPlace(text), text).toBeNull();
  });
});

describe("a job as it is read", () => {
  const only = async (key: string) => (await history(await idOf(key)))[0];

  test("A job waits, runs, waits for a retry and is settled, with its lateness", async () => {
    await world.put("job", {
      when: "in 10s",
      payload: { a: 1 },
      retry: { attempts: 2, base: "10s", max: "10s" },
    });
    expect(await only("job")).toMatchObject({ state: "waiting", readyAt: at(10 * second), latenessMs: null });
    await world.clock.setNow(at(12 * second));
    let seen: unknown;
    world.outcome = async () => {
      seen = await only("job");
      return failed("no");
    };
    await world.work();
    expect(seen).toMatchObject({
      state: "running",
      startedAt: at(12 * second),
      latenessMs: 2_000,
      attempt: 0,
    });
    expect(await only("job")).toMatchObject({
      state: "retrying",
      readyAt: at(22 * second),
      attempt: 1,
      error: "no",
    });
    await world.clock.setNow(at(22 * second));
    world.outcome = () => ({ kind: "done" });
    await world.work();
    const job = await only("job");
    expect(job).toMatchObject({
      state: "succeeded",
      attempt: 2,
      startedAt: at(12 * second),
      finishedAt: at(22 * second),
      latenessMs: 2_000,
    });
    expect(await readJob(world.sql, job?.id ?? "")).toMatchObject({
      payload: { a: 1 },
      attempts: [
        { attempt: 1, outcome: "failed", error: "no" },
        { attempt: 2, outcome: "succeeded" },
      ],
    });
  });

  test("A job of a deleted schedule is shown as cancelled, also before a claim has written that", async () => {
    await world.put("job", { when: "in 10s" });
    await world.clock.setNow(at(12 * second));
    const job = await only("job");
    await world.remove("job");
    expect(await readJob(world.sql, job?.id ?? "")).toMatchObject({
      state: "cancelled",
      reason: "deleted",
      readyAt: null,
    });
    await world.work();
    expect(await readJob(world.sql, job?.id ?? "")).toMatchObject({
      state: "cancelled",
      reason: "deleted",
      finishedAt: at(12 * second),
    });
  });

  test("A job of a held schedule waits without a known start", async () => {
    await world.put("job", { when: "in 10s" });
    await world.clock.setNow(at(12 * second));
    await world.pause("job");
    await world.work();
    expect(await only("job")).toMatchObject({ state: "waiting", readyAt: null });
  });

  test("A job is found by its id, and by no other text", async () => {
    await world.put("job", { when: "in 10s" });
    const id = (await only("job"))?.id ?? "";
    expect(await readJob(world.sql, id)).toMatchObject({ id, key: "job", kind: "cadence" });
    for (const other of [
      "",
      "x",
      `${id}0`,
      id.replace("c0", "m0"),
      id.replace("c0", "c1"),
      `${id} `,
      "9".repeat(40),
      "0-0-c0",
    ])
      expect(await readJob(world.sql, other), other).toBeNull();
  });

  test("A job keeps the payload of its version after an edit", async () => {
    await world.put("job", { when: "every 10s", payload: "old" });
    await world.clock.setNow(at(15 * second));
    await world.work();
    await world.patch("job", { payload: "new" });
    const [, , oldest] = (await history(await idOf("job"))).reverse();
    const jobs = (await history(await idOf("job"))).reverse();
    expect(await readJob(world.sql, jobs[0]?.id ?? "")).toMatchObject({ payload: "old", version: 1 });
    expect(await readJob(world.sql, oldest?.id ?? "")).toMatchObject({ payload: "new", version: 2 });
  });
});
