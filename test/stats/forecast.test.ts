import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readCalendarRules } from "../../lib/cadence/calendar-rules.ts";
import { durationMs } from "../../lib/cadence/duration.ts";
import { nextOccurrences } from "../../lib/history/next-occurrences.ts";
import { putCalendar } from "../../lib/rules/calendar-edits.ts";
import { readForecast } from "../../lib/stats/forecast.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute, second } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  await world.tick();
});

afterEach(() => world.stop());

/** The coming occurrences of each schedule by itself, by minute. */
async function oneByOne(minutes: number): Promise<Map<string, number>> {
  const from = Math.floor(world.clock.now().getTime() / minute) * minute;
  const keys = await world.sql<{ key: string }[]>`
    select key from carillon.schedules where deleted_at is null and held_since is null`;
  const fires = new Map<string, number>();
  for (const { key } of keys) {
    const { occurrences } = await nextOccurrences(world.sql, { key, n: 1_000 });
    for (const { at: occurrence, due } of occurrences) {
      const at = Math.floor((due ?? occurrence) / minute) * minute;
      if (at >= from + minutes * minute) continue;
      const name = new Date(at).toISOString();
      fires.set(name, (fires.get(name) ?? 0) + 1);
    }
  }
  return fires;
}

async function forecast(minutes: number): Promise<Map<string, number>> {
  const { minutes: line } = await readForecast(world.sql, { minutes });
  expect(line).toHaveLength(minutes);
  return new Map(line.flatMap(({ at, fires }) => (fires === 0 ? [] : [[at.toISOString(), fires]])));
}

const sorted = (of: Map<string, number>) => [...of].toSorted();

describe("the forecast", () => {
  test("The forecast is the sum of the schedules' occurrences, including those that are jobs already", async () => {
    const whens = [
      "*/5 * * * *",
      "*/5 * * * *",
      "7 * * * *",
      "30 9 * * *",
      "0 12 * * *",
      "every 1m",
      "every 90s",
    ];
    const more = ["every 10m", "every 17m", "in 20m", "in 3h", "every 1h", "@hourly", "15,45 * * * *"];
    for (const [index, when] of [...whens, ...more].entries()) await world.put(`s${index}`, { when });
    await world.put("in a zone", { when: "*/20 * * * *", timezone: "Asia/Kolkata" });
    await world.put("spread", { when: "0 * * * *", spread: "30m" });
    await world.put("held", { when: "* * * * *" });
    await world.pause("held");
    await world.put("edited", { when: "* * * * *" });
    await world.put("edited", { when: "3 * * * *" });
    await world.put("gone", { when: "* * * * *" });
    await world.remove("gone");
    for (const minutes of [10, 60, 300])
      expect(sorted(await forecast(minutes))).toEqual(sorted(await oneByOne(minutes)));
    await world.clock.advance(2 * minute + 10 * second);
    await world.tick();
    await world.work();
    expect(sorted(await forecast(90))).toEqual(sorted(await oneByOne(90)));
  });

  test.each([
    ["cron in slots", { when: "*/7 * * * *", slot: "10m" }],
    ["interval in slots", { when: "every 7m", slot: "10m" }],
    ["several of one slot", { when: "every 1m", slot: "10m" }],
    ["long interval, longer slots", { when: "every 45m", slot: "1h" }],
    ["off the second", { when: "every 90s", startsAt: "2026-03-02T10:33:00.500Z", slot: "5m" }],
    ["cron with a spread in slots", { when: "*/7 * * * *", spread: "3m", slot: "5m" }],
    ["interval with a spread in slots", { when: "every 7m", spread: "3m", slot: "5m" }],
    ["once, in a slot", { when: "in 20m", slot: "15m" }],
    ["cron with a spread", { when: "*/5 * * * *", spread: "4m" }],
    ["cron with rules of its own", { when: "*/5 * * * *", overlap: "skip" }],
    ["interval with rules of its own", { when: "every 5m", catchUp: { policy: "all" } }],
  ])("The forecast is exact for a schedule with rules of its own: %s", async (_name, body) => {
    await world.put("k", body);
    for (const minutes of [60, 200])
      expect(sorted(await forecast(minutes))).toEqual(sorted(await oneByOne(minutes)));
    await world.clock.advance(17 * minute + 3 * second);
    await world.tick();
    await world.work();
    expect(sorted(await forecast(90))).toEqual(sorted(await oneByOne(90)));
  });

  test("The forecast counts fires that meet in a slot, and shows that a spread would not separate them", async () => {
    for (let n = 0; n < 5; n++) await world.put(`s-${n}`, { when: "0 11 * * *", slot: "1h" });
    const { suggestion } = await readForecast(world.sql, { minutes: 180 });
    expect(suggestion).toMatchObject({ peak: 5, withSpread: [{ peak: 5 }, { peak: 5 }, { peak: 5 }] });
  });

  const whens = ["every 1m", "* * * * *", "every 7m", "*/5 * * * *"];
  test.each([
    ...whens.map((when): [string, object] => [when, { when }]),
    ...whens.map((when): [string, object] => [`${when}, one at a time`, { when, overlap: "skip" }]),
    ["in slots", { when: "*/3 * * * *", slot: "2m" }],
  ])(
    "The forecast has a released job once, at the hold's end, and then later ones: %s",
    async (_name, body) => {
      await world.put("free", body);
      await world.put("held", body);
      await world.pause("held", { until: new Date(world.clock.now().getTime() + 10 * minute + 30 * second) });
      const whole = await forecast(30);
      const alone = await oneByOne(30);
      const end = world.clock.now().getTime() + 10 * minute;
      const of = (from: Map<string, number>, at: number) => from.get(new Date(at).toISOString()) ?? 0;
      for (let at = world.clock.now().getTime(); at < end; at += minute)
        expect(of(whole, at)).toBe(of(alone, at));
      const after = [...alone].filter(([at]) => Date.parse(at) > end);
      for (const [at, fires] of after) expect(whole.get(at)).toBe(2 * fires);
      expect(of(whole, end)).toBe(of(alone, end) + 1);
    },
  );

  test("The end of a hold under which nothing is due has no run in the forecast, also in that of a prefix", async () => {
    const until = new Date(world.clock.now().getTime() + 10 * minute + 30 * second);
    await world.put("often", { when: "* * * * *" });
    await world.put("daily", { when: "0 9 * * *" });
    for (const key of ["often", "daily"]) await world.pause(key, { until });
    const end = new Date(world.clock.now().getTime() + 10 * minute).toISOString();
    for (const prefix of [undefined, ""]) {
      const { minutes } = await readForecast(world.sql, { minutes: 11, prefix });
      expect(minutes.filter(({ fires }) => fires > 0)).toEqual([{ at: new Date(end), fires: 1 }]);
    }
  });

  test("The forecast leaves out days that a calendar excludes", async () => {
    const read = readCalendarRules({ dates: ["2026-03-02"] });
    if (!read.ok) throw new Error("The calendar is not understood.");
    const params = { name: "c", body: { description: null, rules: read.rules }, caller: { name: "ann" } };
    await putCalendar({ sql: world.sql, queue: world.queue }, params);
    await world.put("skips", { when: "0 9,15 * * *", calendar: { name: "c" } });
    await world.put("does not", { when: "0 9,15 * * *" });
    expect(sorted(await forecast(1_440))).toEqual(sorted(await oneByOne(1_440)));
  });

  test("The forecast counts a late occurrence once, in its first minute", async () => {
    await world.put("often", { when: "every 1m" });
    await world.clock.advance(30 * minute);
    const { minutes } = await readForecast(world.sql, { minutes: 3 });
    expect(minutes.map(({ fires }) => fires)).toEqual([2, 1, 1]);
  });

  test("The forecast names the heaviest minutes and how a spread would flatten them", async () => {
    for (let n = 0; n < 30; n++) await world.put(`noon-${n}`, { when: "15 * * * *" });
    for (let n = 0; n < 10; n++) await world.put(`interval-${n}`, { when: "every 1h" });
    const { heaviest, suggestion, total, exact } = await readForecast(world.sql, { minutes: 50 });
    expect(heaviest[0]).toMatchObject({
      fires: 30,
      most: [{ kind: "cron", when: "15 * * * *", timezone: "UTC", fires: 30 }],
      other: 0,
    });
    expect(suggestion).toMatchObject({
      peak: 30,
      withSpread: [
        { spread: "5m", peak: 6 },
        { spread: "15m", peak: 2 },
      ],
    });
    expect(suggestion.text).toContain("A spread of 15m on schedules that run together would lower it to 2.");
    expect({ total, exact }).toEqual({ total: 30, exact: true });
  });

  test.each(["5m", "15m", "1h"])(
    "The suggestion and the curve of a spread of %s give the same heaviest minute",
    async (text) => {
      for (let n = 0; n < 30; n++) await world.put(`noon-${n}`, { when: "15 * * * *" });
      for (let n = 0; n < 10; n++) await world.put(`kept-${n}`, { when: "15 * * * *", slot: "10m" });
      for (let n = 0; n < 10; n++) await world.put(`often-${n}`, { when: "every 7m" });
      await world.clock.advance(14 * minute);
      await world.tick();
      const ms = durationMs(text) ?? 0;
      for (const from of [undefined, new Date(world.clock.now().getTime() + 20 * minute)])
        for (const prefix of [undefined, "noon"]) {
          const asked = { minutes: 120, spread: { text, ms }, from, prefix };
          const { spread, suggestion } = await readForecast(world.sql, asked);
          expect(suggestion.withSpread.find((each) => each.spread === text)?.peak).toBe(spread?.peak);
        }
    },
  );

  test("The effect of a spread stays the same when the jobs of the heaviest minute are made", async () => {
    for (let n = 0; n < 30; n++) await world.put(`noon-${n}`, { when: "15 * * * *" });
    for (let n = 0; n < 4; n++) await world.put(`kept-${n}`, { when: "12 * * * *", slot: "5m" });
    const asked = { minutes: 120, spread: { text: "1h", ms: 60 * minute } };
    const before = await readForecast(world.sql, asked);
    await world.clock.advance(14 * minute);
    await world.tick();
    const after = await readForecast(world.sql, asked);
    expect(after.heaviest[0]?.most).toContainEqual(expect.objectContaining({ kind: "made", fires: 34 }));
    expect([before.spread?.peak, after.spread?.peak]).toEqual([5, 5]);
    expect(after.suggestion.withSpread).toEqual(before.suggestion.withSpread);
  });

  test("The forecast suggests no spread where no run is planned", async () => {
    const { suggestion } = await readForecast(world.sql, { minutes: 60 });
    expect(suggestion).toMatchObject({ peak: 0, text: "No run is planned in this time." });
  });

  test("The forecast does not suggest a spread that would not help", async () => {
    for (let n = 0; n < 10; n++) {
      await world.put(`interval-${n}`, { when: "every 10m" });
      await world.clock.advance(minute);
      await world.tick();
      await world.work();
    }
    const { suggestion } = await readForecast(world.sql, { minutes: 60 });
    expect(suggestion.text).toBe(
      "The heaviest minute has 1 run, an average minute 1. No spread would flatten it.",
    );
  });

  test("The forecast suggests a spread for intervals that fire together", async () => {
    for (let n = 0; n < 10; n++) await world.put(`interval-${n}`, { when: "every 30m" });
    const { suggestion, heaviest } = await readForecast(world.sql, { minutes: 60 });
    expect(heaviest[0]?.most).toEqual([
      { kind: "interval", when: "every 30m", timezone: null, owner: null, fires: 10 },
    ]);
    expect(suggestion.text).toContain("A spread of 15m on schedules that run together would lower it to 1.");
  });

  test("The forecast estimates from a sample of many plan rows how many are of older versions", async () => {
    await world.sql`
      with made as (
        insert into carillon.schedules (shard, queue, key, target_kind, created_at, created_by, updated_at, updated_by)
        select i % 16, 'fast', 'many-' || i, 'queue', carillon.clock(), 'test', carillon.clock(), 'test' from generate_series(1, 3000) i returning id, shard
      )
      insert into carillon.plan (due_at, occurrence, schedule_id, version, shard)
      select at, at, m.id, 1 + m.id % 2, m.shard from made m cross join generate_series(10, 19) k
      cross join lateral (select carillon.clock() + k * interval '1 minute' as at) d`;
    const { total, exact, minutes } = await readForecast(world.sql, { minutes: 30 });
    expect(exact).toBe(false);
    expect(total).toBeGreaterThan(11_000);
    expect(total).toBeLessThan(19_000);
    expect(minutes[15]?.fires).toBe(minutes[12]?.fires);
  });

  test("The forecast estimates from a sample of many plan rows when those with a slot are due", async () => {
    const start = Math.floor(world.clock.now().getTime() / (10 * minute)) * 10 * minute;
    const at = new Date(start + 20 * minute);
    await world.sql`
      with made as (
        insert into carillon.schedules (shard, queue, key, target_kind, created_at, created_by, updated_at, updated_by)
        select i % 16, 'fast', 'many-' || i, 'queue', carillon.clock(), 'test', carillon.clock(), 'test' from generate_series(1, 3000) i returning id, shard
      ), specs as (
        insert into carillon.schedule_versions (schedule_id, version, change, changed_at, changed_by, spec_version, held, first_at, every_ms, body, target)
        select id, 1, 'created', carillon.clock(), 'test', 1, false, ${at}, 1200000, '{"when":"every 20m","slot":"10m"}', '{"queue":"q"}' from made
      )
      insert into carillon.plan (due_at, occurrence, schedule_id, version, shard, every_ms, governed)
      select ${at}, ${at}::timestamptz - interval '3 minutes', m.id, 1, m.shard, 1200000, true from made m cross join generate_series(1, 10) k`;
    const { exact, minutes } = await readForecast(world.sql, { minutes: 60 });
    const fires = minutes.flatMap(({ at: of, fires: n }) =>
      n === 0 ? [] : [[of.getTime() - at.getTime(), n]],
    );
    expect({ exact, fires }).toEqual({
      exact: false,
      fires: [
        [0, 30_000],
        [20 * minute, 30_000],
      ],
    });
  });
});
