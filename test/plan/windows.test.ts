import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { nextOccurrences } from "../../lib/history/next-occurrences.ts";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, day, hour, minute, monday } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  await world.tick();
});

afterEach(() => world.stop());

async function live(until: Date): Promise<void> {
  while (world.clock.now() < until) {
    await world.tick();
    await world.work();
    await world.clock.setNow(new Date(Math.min(until.getTime(), world.clock.now().getTime() + 2 * minute)));
  }
  await world.tick();
  await world.work();
}

const occurrences = async (key?: string) =>
  (await world.jobs(key)).map(({ occurrence }) => occurrence.toISOString().slice(11, 19));
const stateOf = async (key: string) => (await readSchedule(world.sql, key))?.state;

describe("a window", () => {
  test("A window begins with its start and ends before its end", async () => {
    await world.put("within", {
      when: "*/10 * * * *",
      startsAt: "2026-03-02T10:20:00Z",
      endsAt: "2026-03-02T10:50:00Z",
    });
    expect(
      (await nextOccurrences(world.sql, { key: "within", n: 9 })).occurrences.map((each) => each.at),
    ).toEqual(["10:20:00", "10:30:00", "10:40:00"].map((time) => at(time).getTime()));
    await live(at("11:10:00"));
    expect(await occurrences()).toEqual(["10:20:00", "10:30:00", "10:40:00"]);
    expect(await stateOf("within")).toBe("ended");
  });

  test("A window sets the phase of an interval", async () => {
    await world.put("phased", { when: "every 10m", startsAt: "2026-03-02T10:07:00Z" });
    await live(at("10:30:00"));
    expect(await occurrences()).toEqual(["10:07:00", "10:17:00", "10:27:00"]);
  });

  test("A window that began long ago keeps the phase, and makes no past occurrence run", async () => {
    await world.put("phased", { when: "every 10m", startsAt: "2026-02-01T00:03:00Z" });
    await live(at("10:14:00"));
    expect(await occurrences()).toEqual(["10:03:00", "10:13:00"]);
  });

  test("A window in which nothing ever runs is refused", async () => {
    await expect(
      world.put("never", {
        when: "0 9 * * *",
        startsAt: "2026-03-02T10:00:00Z",
        endsAt: "2026-03-03T09:00:00Z",
      }),
    ).rejects.toMatchObject({ kind: "invalid", faults: [{ path: "when" }] });
    await expect(
      world.put("never", { when: "at 2026-03-02T12:00", endsAt: "2026-03-02T12:00:00Z" }),
    ).rejects.toMatchObject({ kind: "invalid" });
  });

  test("An ended window is revived by an edit, and the occurrences between do not run", async () => {
    const body = { when: "*/10 * * * *", endsAt: "2026-03-02T10:15:00Z" };
    await world.put("revived", body);
    await live(at("10:45:00"));
    expect(await stateOf("revived")).toBe("ended");
    const { schedule, changes } = await world.patch("revived", { endsAt: "2026-03-02T11:05:00Z" });
    expect(schedule.state).toBe("active");
    expect(changes).toEqual({ before: [], after: [at("10:50:00"), at("11:00:00")] });
    await live(at("11:10:00"));
    expect(await occurrences()).toEqual(["10:10:00", "10:50:00", "11:00:00"]);
  });

  test("A window moved to an earlier end withdraws occurrences that are not due yet", async () => {
    await world.put("shortened", { when: "every 1m" });
    await world.tick();
    expect(await occurrences()).toEqual(["10:01:00", "10:02:00", "10:03:00"]);
    await world.patch("shortened", { endsAt: "2026-03-02T10:02:00Z" });
    expect(await occurrences()).toEqual(["10:01:00"]);
  });
});

describe("a limit of fires", () => {
  test("A limit of fires counts the jobs made, ends the schedule with the last, and does not count withdrawn ones", async () => {
    await world.put("limited", { when: "every 1m", maxFires: 3 });
    await world.tick();
    expect(await occurrences()).toEqual(["10:01:00", "10:02:00", "10:03:00"]);
    await world.clock.setNow(at("10:01:30"));
    await world.patch("limited", { payload: 1 });
    expect(await occurrences()).toEqual(["10:01:00", "10:02:00", "10:03:00"]);
    expect(await world.sql`select max_fires, fires from carillon.schedules`).toEqual([
      { max_fires: 3, fires: 3 },
    ]);
    expect(await stateOf("limited")).toBe("active");
    await live(at("10:10:00"));
    expect(await occurrences()).toEqual(["10:01:00", "10:02:00", "10:03:00"]);
    expect(world.delivered).toHaveLength(3);
    expect(await readSchedule(world.sql, "limited")).toMatchObject({ state: "ended", nextAt: null });
  });

  test("A limit of fires that is raised later continues the count", async () => {
    await world.put("limited", { when: "every 1m", maxFires: 2 });
    await live(at("10:10:00"));
    await world.patch("limited", { maxFires: 3 });
    await live(at("10:20:00"));
    expect(await occurrences()).toEqual(["10:01:00", "10:02:00", "10:11:00"]);
  });

  test("A limit of fires limits catch-up jobs", async () => {
    await world.put("limited", { when: "every 10m", maxFires: 4, catchUp: { policy: "all" } });
    await world.clock.advance(day);
    await world.tick();
    await world.work();
    const runs = (await world.jobs("limited")).filter(({ state }) => state !== "skipped");
    expect(runs).toHaveLength(4);
    expect(await stateOf("limited")).toBe("ended");
  });
});

describe("spread and slot", () => {
  test("A spread moves due times by an offset of the key, the same for each occurrence", async () => {
    for (let n = 0; n < 40; n++) await world.put(`spread-${n}`, { when: "*/10 * * * *", spread: "5m" });
    await live(at("10:30:00"));
    const lags = new Map<string, Set<number>>();
    for (const { key, occurrence, dueAt, startedAt } of await world.jobs()) {
      const lag = dueAt.getTime() - occurrence.getTime();
      expect(lag).toBeGreaterThanOrEqual(0);
      expect(lag).toBeLessThan(5 * minute);
      if (startedAt !== null) expect(startedAt.getTime()).toBeGreaterThanOrEqual(dueAt.getTime());
      lags.set(key, (lags.get(key) ?? new Set()).add(lag));
    }
    expect([...lags.values()].filter(({ size }) => size !== 1)).toEqual([]);
    expect(new Set([...lags.values()].flatMap((each) => [...each])).size).toBeGreaterThan(35);
  });

  test.each(["every 10m", "*/10 * * * *"])("A slot rounds due times up: %s", async (when) => {
    await world.put("slotted", { when, startsAt: "2026-03-02T10:10:00Z", slot: "15m" });
    await live(at("10:46:00"));
    expect((await world.jobs()).map(({ occurrence, dueAt }) => [occurrence, dueAt])).toEqual([
      [at("10:10:00"), at("10:15:00")],
      [at("10:20:00"), at("10:30:00")],
      [at("10:30:00"), at("10:30:00")],
      [at("10:40:00"), at("10:45:00")],
    ]);
    expect(world.delivered).toHaveLength(4);
  });

  test("A slot that would delay thousands of occurrences is refused", async () => {
    await expect(world.put("crowded", { when: "every 1s", spread: "1h" })).rejects.toMatchObject({
      kind: "invalid",
      faults: [{ path: "spread" }],
    });
  });

  test("While a run waits for its spread, a change of the spread neither loses nor doubles it", async () => {
    for (let n = 0; n < 30; n++) await world.put(`moved-${n}`, { when: "*/30 * * * *", spread: "20m" });
    await live(at("10:40:00"));
    for (let n = 0; n < 30; n++) await world.patch(`moved-${n}`, { spread: n % 2 === 0 ? "2m" : "29m" });
    await live(at("11:00:00"));
    const half = world.delivered.filter(({ occurrence }) => occurrence === at("10:30:00").toISOString());
    expect(half.map(({ key }) => key).sort()).toEqual(
      Array.from({ length: 30 }, (_, n) => `moved-${n}`).sort(),
    );
  });

  test("While a run waits for its spread, a change of `when` keeps it", async () => {
    for (let n = 0; n < 10; n++) await world.put(`kept-${n}`, { when: "*/30 * * * *", spread: "25m" });
    await live(at("10:31:00"));
    for (let n = 0; n < 10; n++) await world.patch(`kept-${n}`, { when: "0 12 * * *" });
    await live(at("11:00:00"));
    const runs = world.delivered.filter(({ occurrence }) => occurrence === at("10:30:00").toISOString());
    expect(runs).toHaveLength(10);
    expect((await world.jobs()).filter(({ occurrence }) => occurrence > at("10:30:00"))).toEqual([]);
  });

  test("A single run that its spread delays runs once, and its schedule has ended then", async () => {
    await world.put("once", { when: "at 2026-03-02T10:20", spread: "10m" });
    await live(at("10:31:00"));
    const [job] = await world.jobs("once");
    expect(job?.occurrence).toEqual(at("10:20:00"));
    expect(world.delivered).toHaveLength(1);
    expect(await stateOf("once")).toBe("ended");
  });
});

test("A schedule with several cadences runs at the instants of each, once per instant", async () => {
  await world.put("several", { when: ["*/20 * * * *", "at 2026-03-02T10:33", "every 30m"] });
  await live(at("11:01:00"));
  expect(await occurrences()).toEqual(["10:20:00", "10:30:00", "10:33:00", "10:40:00", "11:00:00"]);
});

test("An interval by the calendar keeps its wall time", async () => {
  await world.put("daily", {
    when: "every 1 day",
    timezone: "Europe/Berlin",
    startsAt: "2026-03-27T09:00:00+01:00",
  });
  const next = await nextOccurrences(world.sql, { key: "daily", n: 4, from: Date.parse(monday) });
  expect(next.occurrences.map((each) => new Date(each.at).toISOString().slice(0, 16))).toEqual([
    "2026-03-27T08:00",
    "2026-03-28T08:00",
    "2026-03-29T07:00",
    "2026-03-30T07:00",
  ]);
  expect(hour).toBe(3_600_000);
});
