import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { cancelJob } from "../../lib/edit/cancel-jobs.ts";
import { jobsOf } from "../../lib/history/job-history.ts";
import { nextOccurrences } from "../../lib/history/next-occurrences.ts";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import { listSchedules } from "../../lib/history/search-schedules.ts";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { findSchedule } from "../../lib/schedule/stored/stored-schedule.ts";
import { failed } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { dropPastDays } from "../support/drop-past-days.ts";
import { at, day, hour, minute, second } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  await world.tick();
});

afterEach(() => world.stop());

const read = (key: string) => readSchedule(world.sql, key);

async function readJobs(key: string) {
  const schedule = await findSchedule(world.sql, key);
  return schedule === null ? [] : (await jobsOf(world.sql, schedule, { limit: 10 })).items;
}

describe("nextAt", () => {
  test("`nextAt` is the coming occurrence, whether or not its job is made already", async () => {
    await world.put("soon", { when: "every 1m" });
    await world.put("late", { when: "every 1h" });
    expect(await read("soon")).toMatchObject({ nextAt: at(minute), state: "active", lastJob: null });
    expect(await read("late")).toMatchObject({ nextAt: at(hour) });
  });

  test("`nextAt` is a due occurrence until that has started", async () => {
    await world.put("often", { when: "every 1m" });
    await world.clock.setNow(at(minute));
    expect(await read("often")).toMatchObject({ nextAt: at(minute) });
    const [job] = await world.jobs();
    await claimParcel(world.sql, job?.parcelId ?? "", minute);
    expect(await read("often")).toMatchObject({
      nextAt: at(2 * minute),
      lastJob: { state: "running", occurrence: at(minute) },
    });
  });

  test("`nextAt` is the oldest of several due occurrences that wait", async () => {
    await world.put("often", { when: "every 10s" });
    await world.tick();
    await world.clock.setNow(at(35 * second));
    expect(await readSchedule(world.sql, "often")).toMatchObject({ nextAt: at(10 * second) });
  });

  test("`nextAt` is the time of a single run that no tick has made yet", async () => {
    await world.put("once", { when: "in 10m" });
    await world.clock.setNow(at(20 * minute));
    expect(await read("once")).toMatchObject({ nextAt: at(10 * minute), state: "active" });
  });

  test("`nextAt` is null while the schedule is paused", async () => {
    await world.put("held", { when: "every 1m" });
    await world.pause("held");
    expect(await read("held")).toMatchObject({ nextAt: null, state: "paused" });
  });
});

describe("lastJob", () => {
  test("The last job is never one of the future, even if that is already cancelled", async () => {
    await world.put("often", { when: "every 1m" });
    await world.tick();
    await world.clock.setNow(at(minute + 30 * second));
    await world.work();
    const ahead = (await readJobs("often")).filter(({ occurrence }) => occurrence > world.clock.now());
    expect(ahead.length).toBeGreaterThan(0);
    for (const { id } of ahead)
      await cancelJob({ sql: world.sql, queue: world.queue }, { id, caller: { name: "ann" } });
    expect(await readJobs("often")).toMatchObject([...ahead.map(() => ({ state: "cancelled" })), {}]);
    expect(await read("often")).toMatchObject({ lastJob: { occurrence: at(minute), state: "succeeded" } });
  });
});

describe("a schedule is ended", () => {
  test("A schedule is ended when its last job is settled, not before", async () => {
    await world.put("once", { when: "in 1m", retry: { attempts: 2, base: "10s", max: "10s" } });
    world.outcome = () => failed("no");
    expect(await read("once")).toMatchObject({ state: "active" });
    await world.clock.setNow(at(minute));
    await world.work();
    expect(await read("once")).toMatchObject({
      state: "active",
      nextAt: null,
      lastJob: { state: "retrying", attempt: 1 },
    });
    await world.clock.setNow(at(minute + 10_000));
    await world.work();
    expect(await read("once")).toMatchObject({
      state: "ended",
      nextAt: null,
      lastJob: { state: "dead", attempt: 2, error: "no" },
    });
  });

  test("A schedule stays ended when the day of its job is dropped", async () => {
    await world.put("once", { when: "in 1m" });
    await world.clock.setNow(at(minute));
    await world.work();
    await world.clock.advance(20 * day);
    await world.tick();
    await dropPastDays(world, 3);
    expect(await read("once")).toMatchObject({ state: "ended", lastJob: null });
  });

  test("A schedule that is put again is no longer ended", async () => {
    await world.put("once", { when: "in 1m" });
    await world.clock.setNow(at(minute));
    await world.work();
    await world.put("once", { when: "in 1h" });
    expect(await read("once")).toMatchObject({
      state: "active",
      nextAt: at(61 * minute),
      lastJob: { occurrence: at(minute), state: "succeeded" },
    });
  });
});

describe("a list of schedules", () => {
  const keys = async (filter: Parameters<typeof listSchedules>[1]) =>
    (await listSchedules(world.sql, filter)).items.map(({ key }) => key);

  test("A list of schedules filters by prefix, group, tag, target and state, in the order of keys", async () => {
    await world.put("b:1", { when: "every 1m", group: "g", tags: ["x", "y"] });
    await world.put("a:1", { when: "every 1m", group: "g", target: { handler: "greet" } });
    await world.put("a:2", { when: "at 2026-03-02T10:00" });
    await world.put("a:ü", { when: "every 1m", paused: true, tags: ["x"] });
    await world.put("a;", { when: "every 1m" });
    await world.remove("a;");
    await world.work();
    const limit = 10;
    expect(await keys({ limit })).toEqual(["a:1", "a:2", "a:ü", "b:1"]);
    expect(await keys({ limit, prefix: "a:" })).toEqual(["a:1", "a:2", "a:ü"]);
    expect(await keys({ limit, group: "g" })).toEqual(["a:1", "b:1"]);
    expect(await keys({ limit, tag: "x" })).toEqual(["a:ü", "b:1"]);
    expect(await keys({ limit, target: "handler" })).toEqual(["a:1"]);
    expect(await keys({ limit, state: "paused" })).toEqual(["a:ü"]);
    expect(await keys({ limit, state: "ended" })).toEqual(["a:2"]);
    expect(await keys({ limit, state: "active" })).toEqual(["a:1", "b:1"]);
    expect(await keys({ limit, prefix: "a:", tag: "x", state: "active" })).toEqual([]);
  });

  test("A list of schedules has pages that together hold every schedule once, also with a filter by state", async () => {
    for (let n = 0; n < 23; n++)
      await world.put(`k${String(n).padStart(2, "0")}`, { when: "every 1m", paused: n % 3 === 0 });
    for (const state of [undefined, "paused", "active"] as const) {
      const seen: string[] = [];
      let after: string | undefined;
      do {
        const page = await listSchedules(world.sql, { limit: 4, state, after });
        expect(page.items.length).toBeLessThanOrEqual(4);
        seen.push(...page.items.map(({ key }) => key));
        after = page.next;
      } while (after !== undefined);
      expect(new Set(seen).size).toBe(seen.length);
      expect(seen).toHaveLength({ all: 23, paused: 8, active: 15 }[state ?? "all"]);
    }
  });
});

test("The coming occurrences are strictly after an instant, or after now", async () => {
  await world.put("often", { when: "*/20 * * * *" });
  const told = async (params: { key: string; n: number; from?: number }) =>
    (await nextOccurrences(world.sql, params)).occurrences.map((each) => each.at);
  expect(await told({ key: "often", n: 2 })).toEqual([at("10:20:00"), at("10:40:00")].map(Number));
  const from = at("10:40:00").getTime();
  expect(await told({ key: "often", n: 1, from })).toEqual([at("11:00:00").getTime()]);
  await world.put("once", { when: "in 1m" });
  expect(await told({ key: "once", n: 5 })).toEqual([at(minute).getTime()]);
  await expect(nextOccurrences(world.sql, { key: "none", n: 1 })).rejects.toMatchObject({ kind: "missing" });
});
