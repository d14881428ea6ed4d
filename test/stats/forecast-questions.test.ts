import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { nextOccurrences } from "../../lib/history/next-occurrences.ts";
import { type Forecast, type ForecastQuery, readForecast } from "../../lib/stats/forecast.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, day, hour, minute } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  await world.tick();
});

afterEach(() => world.stop());

const ask = (query: Partial<ForecastQuery>): Promise<Forecast> =>
  readForecast(world.sql, { minutes: 60, ...query });

const firesOf = ({ minutes }: Forecast) =>
  minutes.flatMap(({ at: when, fires }) => (fires === 0 ? [] : [[when.toISOString(), fires] as const]));

/** The occurrences in a window, of each schedule by itself. */
async function oneByOne(from: Date, minutes: number): Promise<[string, number][]> {
  const end = from.getTime() + minutes * minute;
  const fires = new Map<string, number>();
  const keys = await world.sql<
    { key: string }[]
  >`select key from carillon.schedules where deleted_at is null`;
  for (const { key } of keys) {
    const { occurrences } = await nextOccurrences(world.sql, {
      key,
      n: 1_000,
      from: Math.max(from.getTime() - hour, world.clock.now().getTime()),
    });
    for (const { at: occurrence, due } of occurrences) {
      const time = Math.floor((due ?? occurrence) / minute) * minute;
      if (time < from.getTime() || time >= end) continue;
      const name = new Date(time).toISOString();
      fires.set(name, (fires.get(name) ?? 0) + 1);
    }
  }
  return [...fires].toSorted();
}

const varied: [string, object][] = [
  ["cron", { when: "*/7 * * * *" }],
  ["daily", { when: "30 9 * * *" }],
  ["in a zone", { when: "0 10 * * *", timezone: "Asia/Kolkata" }],
  ["interval", { when: "every 17m" }],
  ["spread", { when: "0 * * * *", spread: "30m" }],
  ["in slots", { when: "*/7 * * * *", slot: "10m" }],
  ["list", { when: ["0 9 * * *", "15 9 * * *"] }],
  ["once", { when: `at ${new Date(at(0).getTime() + 3 * day).toISOString()}` }],
];

describe("a forecast that begins later", () => {
  test.each([hour, day, 3 * day, 20 * day])(
    "A forecast that begins %i ms ahead is the sum of the schedules' occurrences",
    async (ahead) => {
      for (const [key, body] of varied) await world.put(key, body);
      const from = new Date(at(0).getTime() + ahead);
      expect(firesOf(await ask({ from, minutes: 300 })).toSorted()).toEqual(await oneByOne(from, 300));
    },
  );

  test("Late occurrences do not fire in a forecast that begins later", async () => {
    await world.put("once", { when: "in 5m" });
    await world.clock.advance(10 * minute);
    expect((await ask({ from: new Date(world.clock.now().getTime() + hour) })).total).toBe(0);
    expect((await ask({})).total).toBe(1);
  });

  test("A forecast that begins later is estimated from a sample of schedules if the plan has too many rows", async () => {
    await world.sql`
      with made as (
        insert into carillon.schedules (shard, queue, key, target_kind, created_at, created_by, updated_at, updated_by)
        select i % 16, 'fast', 'many-' || i, 'queue', carillon.clock(), 'test', carillon.clock(), 'test' from generate_series(1, 24000) i returning id, shard
      ), specs as (
        insert into carillon.schedule_versions (schedule_id, version, change, changed_at, changed_by, spec_version, held, first_at, every_ms, body, target)
        select id, 1, 'created', carillon.clock(), 'test', 1, false, carillon.clock(), 86400000, '{"when":"every 1d"}', '{"queue":"q"}' from made
      )
      insert into carillon.plan (due_at, occurrence, schedule_id, version, shard, every_ms)
      select d.at, d.at, m.id, 1, m.shard, 86400000 from made m cross join lateral (select carillon.clock() + interval '1 day' as at) d`;
    const from = new Date(at(0).getTime() + 5 * day - hour);
    const { exact, total, minutes } = await ask({ from, minutes: 120 });
    expect(exact).toBe(false);
    expect(total).toBeGreaterThan(23_900);
    expect(total).toBeLessThan(24_100);
    expect(minutes[60]?.fires).toBe(total);
  });
});

describe("a forecast of a prefix", () => {
  test("The forecast of a prefix has the occurrences of its schedules alone", async () => {
    for (const [key, body] of varied) await world.put(`team:${key}`, body);
    const expected = await oneByOne(at(0), 200);
    await world.put("other:1", { when: "* * * * *" });
    expect(firesOf(await ask({ prefix: "team:", minutes: 200 })).toSorted()).toEqual(expected);
  });

  test("The forecast of a prefix names the end of a hold, and has no fires of a hold without an end", async () => {
    for (const key of ["a", "b", "c"]) await world.put(`team:${key}`, { when: "*/20 * * * *" });
    await world.pause("team:a", { owner: "ops", until: new Date(at(0).getTime() + 30 * minute) });
    await world.pause("team:b");
    const { heaviest, minutes } = await ask({ prefix: "team:" });
    expect(minutes.map(({ fires }) => fires)).toEqual(
      minutes.map((_, index) => (index === 40 ? 2 : [20, 30].includes(index) ? 1 : 0)),
    );
    const release = heaviest.find(({ at: when }) => when.getTime() === at(30 * minute).getTime());
    expect(release?.most).toEqual([{ kind: "release", when: null, timezone: null, owner: "ops", fires: 1 }]);
  });
});

test("The forecast names releases with the owners of the holds, and says that a spread does not move them", async () => {
  for (let n = 0; n < 8; n++) {
    await world.put(`held-${n}`, { when: "every 1m" });
    await world.put(`free-${n}`, { when: "every 1m" });
    await world.pause(`held-${n}`, { owner: "ops", until: new Date(at(0).getTime() + 30 * minute) });
  }
  const { heaviest, suggestion } = await ask({ minutes: 31 });
  expect(heaviest[0]).toMatchObject({
    fires: 16,
    most: [
      { kind: "interval", when: "every 1m", owner: null, fires: 8 },
      { kind: "release", when: null, owner: "ops", fires: 8 },
    ],
    other: 0,
  });
  expect(suggestion.text).toContain(
    "8 of its runs start when holds of ops end: a spread does not move them.",
  );
});

describe("contributors", () => {
  beforeEach(async () => {
    for (let n = 0; n < 6; n++)
      await world.put(`crm:${n}`, { when: "0 * * * *", tags: ["a", "b"], target: { queue: "crm" } });
    await world.put("shop:1", { when: "*/10 * * * *", tags: ["b"], target: { queue: "shop" } });
    await world.put("plain", { when: "0 * * * *", target: { queue: "shop" } });
  });

  test.each([
    ["prefix", ["crm:", 6], ["shop:", 6], [null, 1]],
    ["tag", ["b", 12], ["a", 6], [null, 1]],
    ["target", ["queue/shop", 7], ["queue/crm", 6]],
    ["key", ["shop:1", 6], ["crm:0", 1]],
  ] as const)("The forecast names the largest contributors by %s", async (by, ...expected) => {
    const { by: named, heaviest } = await ask({ by, from: at(30 * minute) });
    const told = named.map(({ name, fires }) => [name, fires]);
    for (const each of expected) expect(told).toContainEqual(each);
    expect(told[0]).toEqual(
      named.length === 0 ? [] : [named[0]?.name, Math.max(...named.map((n) => n.fires))],
    );
    const sum = heaviest[0]?.by.reduce((all, { fires }) => all + fires, 0) ?? 0;
    expect(sum).toBeGreaterThanOrEqual(by === "key" ? 5 : 8);
  });

  test("A target with limits has the jobs of a minute that they allow", async () => {
    await world.sql`update carillon.targets set rate_count = 3, rate_ms = 1000 where name = 'queue/crm'`;
    const { by } = await ask({ by: "target", from: at(30 * minute) });
    expect(Object.fromEntries(by.map(({ name, perMinute }) => [name, perMinute]))).toEqual({
      "queue/crm": 180,
      "queue/shop": null,
    });
  });

  test("Contributors of many plan rows are estimated from a sample", async () => {
    await world.sql`
      with made as (
        insert into carillon.schedules (shard, queue, key, target_kind, created_at, created_by, updated_at, updated_by)
        select i % 16, 'fast', case when i % 4 = 0 then 'few:' else 'many:' end || i, 'queue', carillon.clock(), 'test', carillon.clock(), 'test' from generate_series(1, 24000) i returning id, shard
      )
      insert into carillon.plan (due_at, occurrence, schedule_id, version, shard)
      select d.at, d.at, m.id, 1, m.shard from made m cross join lateral (select carillon.clock() + interval '20 minutes' as at) d`;
    const { by, exact } = await ask({ by: "prefix" });
    expect(exact).toBe(false);
    const fires = new Map(by.map((each) => [each.name, each.fires]));
    expect(fires.get("many:")).toBeGreaterThan(16_500);
    expect(fires.get("few:")).toBeGreaterThan(5_000);
    expect(fires.get("few:")).toBeLessThan(7_000);
  });
});

describe("a spread that is tried out", () => {
  test("The curve distributes what fires together, and leaves out what a spread does not move", async () => {
    for (let n = 0; n < 20; n++) await world.put(`cron-${n}`, { when: "30 * * * *" });
    await world.put("slot", { when: "30 * * * *", slot: "10m" });
    const { spread } = await ask({ spread: { text: "10m", ms: 10 * minute } });
    expect(spread?.minutes.slice(28, 42).map(({ fires }) => fires)).toEqual([
      0, 0, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 0, 0,
    ]);
    expect(spread).toMatchObject({ spread: "10m", peak: 3 });
  });

  test("The curve has what a spread moves in from before the first minute", async () => {
    for (let n = 0; n < 20; n++) await world.put(`cron-${n}`, { when: "30 * * * *" });
    const { spread, minutes } = await ask({
      from: at(31 * minute),
      minutes: 10,
      spread: { text: "10m", ms: 10 * minute },
    });
    expect(minutes.every(({ fires }) => fires === 0)).toBe(true);
    expect(spread?.minutes.map(({ fires }) => fires)).toEqual([2, 2, 2, 2, 2, 2, 2, 2, 2, 0]);
  });
});

describe("a spread that is tried out from now on", () => {
  const spread = { text: "1h", ms: hour };

  /** 60 crons and 60 intervals of ten and 30 minutes, which together have 480 runs an hour. */
  async function filled(): Promise<void> {
    const put = (name: string, when: string) => world.put(name, { when });
    for (let n = 0; n < 60; n++)
      await Promise.all([put(`cron-${n}`, "*/10 * * * *"), put(`interval-${n}`, "every 30m")]);
  }

  test("The first minutes have what it moves in from the minutes before, so the curve does not rise from nothing", async () => {
    await filled();
    await world.clock.advance(7 * minute);
    await world.tick();
    const { spread: curve, minutes, total, exact } = await ask({ minutes: 120, spread });
    expect({ total, exact }).toEqual({ total: 2 * 480, exact: true });
    expect(minutes[0]?.fires).toBe(0);
    expect(new Set(curve?.minutes.map(({ fires }) => fires))).toEqual(new Set([8]));
  });

  test("A spread of a day counts the day before, also for a prefix, and a time that begins soon", async () => {
    for (let n = 0; n < 48; n++) await world.put(`cron-${n}`, { when: "0 * * * *" });
    await world.clock.advance(minute);
    await world.tick();
    const day = { text: "24h", ms: 24 * hour };
    for (const asked of [{}, { prefix: "cron" }, { from: at(30 * minute) }]) {
      const { spread: curve, exact } = await ask({ ...asked, minutes: 240, spread: day });
      expect(exact).toBe(true);
      expect(new Set(curve?.minutes.map(({ fires }) => fires))).toEqual(new Set([1]));
    }
  });

  test("A late occurrence fires now, and does not count a second time in the minutes before", async () => {
    await filled();
    await world.clock.advance(35 * minute);
    const { spread: curve, minutes } = await ask({ minutes: 30, spread });
    expect(minutes[0]?.fires).toBe(120);
    expect(curve?.minutes[0]?.fires).toBe(2);
  });
});

test("The forecast has the best minute of the last day beside it", async () => {
  expect((await ask({})).capacity).toBeNull();
  await world.sql`
    insert into carillon.minutes (minute, succeeded, dead) values
      (${at(-2 * hour)}, 100, 20), (${at(-3 * hour)}, 90, 0), (${at(-25 * hour)}, 900, 0)`;
  expect((await ask({})).capacity).toEqual({ perMinute: 120, at: at(-2 * hour) });
});

test("A prefix with too many schedules is refused with what would be allowed", async () => {
  await world.sql`
    insert into carillon.schedules (shard, queue, key, target_kind, created_at, created_by, updated_at, updated_by)
    select i % 16, 'fast', 'many:' || i, 'queue', carillon.clock(), 'test', carillon.clock(), 'test' from generate_series(1, 10001) i`;
  await expect(ask({ prefix: "many:" })).rejects.toMatchObject({
    faults: [{ path: "prefix", message: "takes a prefix of at most 10000 schedules: make it longer" }],
  });
});
