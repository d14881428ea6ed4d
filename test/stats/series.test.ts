import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readSeries, type Series, type SeriesSearch, type SeriesStep } from "../../lib/stats/series.ts";
import { readSeriesPlace } from "../../lib/stats/series-place.ts";
import { readStats } from "../../lib/stats/stats.ts";
import { failed } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, day, hour, minute, second } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon({ roles: functionRoles });
  await world.tick();
});

afterEach(() => world.stop());

type Asked = Partial<SeriesSearch>;

const series = (asked: Asked = {}): Promise<Series> =>
  readSeries(world.as.api, { owners: {}, step: "1m", limit: 60, ...asked });

/** All pages of a series, and how many there were. */
async function pagesOf(asked: Asked): Promise<{ items: SeriesStep[]; pages: number }> {
  const items: SeriesStep[] = [];
  let after: SeriesSearch["after"];
  for (let pages = 1; ; pages++) {
    const { items: some, next } = await series({ ...asked, after });
    items.push(...some);
    if (next === undefined) return { items, pages };
    const place = readSeriesPlace(next);
    expect(place).not.toBeNull();
    expect(place).not.toEqual(after);
    after = place ?? undefined;
  }
}

const stepAt = ({ items }: Pick<Series, "items">, offset: number) =>
  items.find((item) => item.at.getTime() === at(offset).getTime());

async function minutes(count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    await world.clock.advance(minute);
    await world.tick();
    await world.work();
  }
}

describe("the series of all jobs", () => {
  test("A step has what was settled in it, before the tick rolls it up and after", async () => {
    for (const key of ["one", "two"]) await world.put(key, { when: "in 1m" });
    await world.put("fails", {
      when: "in 1m",
      retry: { attempts: 2, base: "1m", max: "1m", jitter: "none" },
    });
    await world.put("dies", { when: "in 1m", retry: { attempts: 1 } });
    world.outcome = ({ key, attempt }) =>
      key === "dies" || (key === "fails" && attempt === 0) ? failed("no") : { kind: "done" };
    await world.clock.advance(minute + 400);
    await world.work();
    await world.clock.advance(minute);
    await world.work();
    const before = await series();
    expect(before).toMatchObject({ minutesOf: "settled", asOf: at(2 * minute + 400) });
    expect(before.freshness?.rolledUpAt).toEqual(at(0));
    expect(before.freshness?.pending.count).toBeGreaterThan(0);
    expect(stepAt(before, 0)).toMatchObject({ made: 4, succeeded: 0, over: true });
    expect(stepAt(before, minute)).toMatchObject({
      succeeded: 2,
      failed: 2,
      retried: 1,
      dead: 1,
      open: null,
    });
    expect(stepAt(before, minute)?.lateness.jobs).toBe(4);
    expect(stepAt(before, 2 * minute)).toMatchObject({ succeeded: 1, failed: 0, over: false });
    await world.tick();
    const after = await series();
    expect(after.items).toEqual(before.items);
    expect(after.freshness).toEqual({ rolledUpAt: after.asOf, pending: { count: 0, more: false } });
  });

  test("Steps without jobs are there, newest first, and longer steps have the sum of their minutes", async () => {
    await world.put("often", { when: "every 1m" });
    await minutes(12);
    const { items } = await series({ from: at(-10 * minute) });
    expect(items.map((item) => item.at)).toEqual(Array.from({ length: 23 }, (_, n) => at((12 - n) * minute)));
    const fives = await series({ from: at(-10 * minute), step: "5m" });
    expect(fives.items.map((item) => item.at.getTime())).toEqual(
      [10, 5, 0, -5, -10].map((n) => at(n * minute).getTime()),
    );
    for (const five of fives.items) {
      const own = items.filter(
        (item) => Math.floor((item.at.getTime() - five.at.getTime()) / (5 * minute)) === 0,
      );
      expect(five.succeeded).toBe(own.reduce((sum, { succeeded }) => sum + succeeded, 0));
      expect(five.lateness.jobs).toBe(own.reduce((sum, { lateness }) => sum + lateness.jobs, 0));
    }
    expect(stepAt(fives, 5 * minute)).toMatchObject({ succeeded: 5, perMinute: 1 });
  });

  test("Pages cover the time without a gap, and end at its start or where counts are no longer kept", async () => {
    await world.put("often", { when: "every 1m" });
    await minutes(7);
    const asked = { from: at(-2 * minute), to: at(6 * minute) };
    const whole = await series(asked);
    expect(whole.items).toHaveLength(8);
    expect(whole.next).toBeUndefined();
    expect(await pagesOf({ ...asked, limit: 3 })).toEqual({ items: whole.items, pages: 3 });
    const longAgo = await pagesOf({ from: at(-72 * hour), step: "1h", limit: 1_440 });
    expect(longAgo).toMatchObject({ pages: 2 });
    expect(longAgo.items).toHaveLength(48);
  });

  test("Nothing is counted after the running step, and a time that lies ahead has no steps", async () => {
    expect((await series({ from: at(0), to: at(hour) })).items).toHaveLength(1);
    expect(await series({ from: at(hour), to: at(2 * hour) })).toMatchObject({ items: [] });
  });
});

test("The last minutes forget an outage that the last hour still shows", async () => {
  await world.put("often", { when: "every 1m" });
  await minutes(2);
  await world.clock.advance(6 * minute);
  await world.tick();
  await world.work();
  await minutes(7);
  const { lastMinutes, lastHour } = await readStats(world.as.api);
  expect(lastHour.lateness.maxMs).toBeGreaterThan(4 * minute);
  expect(lastMinutes.from).toEqual(at(10 * minute));
  expect(lastMinutes).toMatchObject({ succeeded: 6, lateness: { p99Ms: 0 } });
});

describe("the series of some schedules", () => {
  test("A job counts in the step of its occurrence, and changes it when it is retried", async () => {
    await world.put("a:fails", {
      when: "in 1m",
      retry: { attempts: 2, base: "10m", max: "10m", jitter: "none" },
    });
    await world.put("a:dies", { when: "in 1m", retry: { attempts: 1 } });
    await world.put("b:other", { when: "in 1m" });
    world.outcome = ({ key, attempt }) =>
      key === "a:dies" || (key === "a:fails" && attempt === 0) ? failed("no") : { kind: "done" };
    await world.clock.advance(minute + 400);
    await world.work();
    const asked = { owners: { prefix: "a:" }, from: at(0) };
    expect(await series(asked)).toMatchObject({ minutesOf: "occurrence", freshness: null });
    const counts = { made: 2, failed: 2, dead: 1, retried: 1, pulses: null };
    expect(stepAt(await series(asked), minute)).toMatchObject({ ...counts, succeeded: 0, open: 1 });
    await world.clock.advance(10 * minute);
    await world.work();
    const later = await series(asked);
    expect(stepAt(later, minute)).toMatchObject({ ...counts, succeeded: 1, open: 0 });
    expect(stepAt(later, minute)?.lateness).toMatchObject({ jobs: 2 });
    expect(stepAt(later, 11 * minute)).toMatchObject({ made: 0, succeeded: 0 });
  });

  test("A range of missed occurrences counts in the step of its last one", async () => {
    await world.put("a:often", { when: "every 1m" });
    await world.tick();
    await world.work();
    await world.clock.advance(2 * hour);
    await world.tick();
    const [range] = await world.sql<{ at: Date; missed: number; singly: number }[]>`
      select max(to_at) as at, sum(count)::int as missed, (select count(*)::int from carillon.jobs where reason = 'missed') as singly
      from carillon.passed_over where reason = 'missed'`;
    const { items } = await series({ owners: { prefix: "a:" }, from: at(0), limit: 1_440 });
    const missed = items.reduce((sum, each) => sum + each.missed, 0);
    expect(range?.missed).toBeGreaterThan(50);
    expect(missed).toBe((range?.missed ?? 0) + (range?.singly ?? 0));
    const last = items.find((item) => item.at <= (range?.at ?? at(0)) && item.missed > 50);
    expect(last?.at.getTime()).toBe(Math.floor((range?.at.getTime() ?? 0) / minute) * minute);
  });

  test("Jobs that are looked up one by one, and jobs met on a walk, give the same series", async () => {
    await manyKinds();
    const asked = { from: at(-5 * minute), limit: 1_440 };
    // Without a prefix or group each job's schedule is looked up.
    const few = await series({ ...asked, owners: { prefix: "a:", tag: "some" } });
    const walk = await series({ ...asked, owners: { tag: "some" } });
    expect(walk.items).toEqual(few.items);
    expect(sum(few.items).dead).toBeGreaterThan(3);
    const listed = await series({ ...asked, owners: { prefix: "a:" } });
    const unlisted = await series({ ...asked, owners: { tag: "all" } });
    expect(unlisted.items).toEqual(listed.items);
    // Jobs of later minutes are made already.
    const stored = await world.sql`
      select count(*)::int as jobs from carillon.jobs
      where (state <> 'skipped' or reason = 'late') and occurrence < date_trunc('minute', carillon.clock()) + interval '1 minute'`;
    expect(sum(listed.items).made).toBe(stored[0]?.["jobs"]);
  });

  test("A page stops at its bound, and a step with more jobs than that is counted over several pages", async () => {
    await manyKinds();
    const asked = { owners: { tag: "all" }, from: at(-5 * minute), limit: 1_440 };
    const whole = await series(asked);
    for (const bound of [7, 13, 50]) {
      const paged = await pagesOf({ ...asked, most: { listed: bound, unlisted: bound } });
      expect(paged.items).toEqual(whole.items);
      expect(paged.pages).toBeGreaterThan(3);
    }
    const steps = { ...asked, step: "1h" as const, from: at(-hour) };
    const paged = await pagesOf({ ...steps, most: { listed: 20, unlisted: 20 } });
    expect(paged.items).toEqual((await series(steps)).items);
  });

  test("A series that is asked from long ago begins a day before the oldest record", async () => {
    await world.put("a:often", { when: "every 1m" });
    await minutes(3);
    const asked = { owners: { prefix: "a:" }, from: new Date(0), step: "1h" as const, limit: 24 };
    const { items, pages } = await pagesOf(asked);
    expect(pages).toBe(2);
    expect(items.at(-1)?.at).toEqual(at(-day));
    expect(sum(items).succeeded).toBeGreaterThan(0);
    expect(await series({ ...asked, to: at(-2 * day) })).toMatchObject({ items: [] });
    await world.sql`update carillon.retention set kept_from = ${at(minute)}`;
    await world.sql`
      insert into carillon.passed_over (schedule_id, from_at, to_at, count, reason, noted_at)
      select id, ${at(-300 * day)}, ${at(-300 * day)}, 1, 'missed', ${at(0)} from carillon.schedules`;
    expect((await pagesOf(asked)).items.at(-1)?.at).toEqual(at(-day));
  });

  test("Jobs of a deleted schedule, of another version and of other kinds stay in the series", async () => {
    await world.put("a:one", { when: "every 1m", target: { queue: "demo" } });
    await minutes(3);
    await world.patch("a:one", { when: "30 * * * * *" });
    await minutes(3);
    await world.remove("a:one");
    await minutes(3);
    const { items } = await series({ owners: { key: "a:one" }, from: at(0) });
    const stored = await world.sql<{ jobs: number }[]>`
      select count(*)::int as jobs from carillon.jobs where state = 'succeeded'`;
    expect(stored[0]?.jobs).toBeGreaterThan(4);
    expect(sum(items).succeeded).toBe(stored[0]?.jobs);
  });
});

/** Thirty schedules of some outcomes, three of them with a tag of their own. */
async function manyKinds(): Promise<void> {
  for (let n = 0; n < 30; n++) {
    await world.put(`a:${String(n).padStart(2, "0")}`, {
      when: n % 3 === 0 ? "* * * * *" : `every ${60 + n}s`,
      tags: n < 3 ? ["some", "all"] : ["all"],
      retry: { attempts: 2, base: "10s", max: "10s", jitter: "none" },
      deadline: n === 4 ? "10s" : null,
    });
  }
  world.outcome = ({ key, attempt }) =>
    key === "a:00" || (key.endsWith("5") && attempt === 0) ? failed("no") : { kind: "done" };
  await minutes(3);
  await world.clock.advance(20 * second);
  await world.work();
  await world.pause("a:02");
  await minutes(1);
  await world.clock.advance(5 * minute);
  await world.tick();
  await world.work();
  await world.remove("a:01");
  await minutes(1);
}

function sum(items: readonly SeriesStep[]): Record<"made" | "succeeded" | "dead", number> {
  const total = { made: 0, succeeded: 0, dead: 0 };
  for (const item of items)
    for (const name of ["made", "succeeded", "dead"] as const) total[name] += item[name];
  return total;
}

describe("the place of a series", () => {
  test.each(["", "1", "1.2.3", "1.2.x.4.5.6", "1.2.3.4.zz.1-x", "01.2", "1.2.3.4.1-1-1-1-1-1-1-1-1-1.5"])(
    "%j is no place of a series",
    (text) => {
      expect(readSeriesPlace(text)).toBeNull();
    },
  );
});
