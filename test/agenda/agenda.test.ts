import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { countAgenda } from "../../lib/agenda/counts.ts";
import { readLastRuns } from "../../lib/agenda/last-runs.ts";
import type { AgendaFilter, AgendaRow } from "../../lib/agenda/window.ts";
import { readCalendarRules } from "../../lib/cadence/calendar-rules.ts";
import { explain } from "../../lib/explain/explain.ts";
import { fireNow } from "../../lib/job-control/fire-now.ts";
import { putCalendar } from "../../lib/rules/calendar-edits.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, day, hour, minute, second } from "../support/instants.ts";
import { agendaPages, shown } from "./pages.ts";

let world: Carillon;

beforeAll(async () => {
  world = await carillon();
  await world.tick();
});

afterAll(() => world.stop());

const agendaOf = (filter: AgendaFilter, window: readonly [Date, Date], limit = 3) =>
  agendaPages(world.sql, filter, window, limit);

const countsOf = (filter: AgendaFilter, from: Date, to: Date) =>
  countAgenda(world.sql, { from: from.getTime(), to: to.getTime() }, filter);

describe("coming occurrences", () => {
  test("Schedules of many cadences that meet at one instant are listed once each, on pages of any size", async () => {
    const keys = Array.from({ length: 12 }, (_, n) => `meet:${String(n + 10)}`);
    for (const [n, key] of keys.entries()) await world.put(key, { when: `7 ${n + 1}-13 * * *` });
    const window = [at("13:07:00"), at("13:07:01")] as const;
    for (const filter of [{ prefix: "meet:" }, {}])
      for (const limit of [1, 5, 100])
        expect((await agendaOf(filter, window, limit)).map(({ key }) => key)).toEqual(keys);
  });

  test("An agenda lists every occurrence of a window, not only the next of each schedule", async () => {
    await world.put("all:cron", { when: "*/20 * * * *", timezone: "Europe/Berlin" });
    await world.put("all:interval", { when: "every 25m", startsAt: at("10:05:00").toISOString() });
    await world.put("all:once", { when: `at ${at("11:10:00").toISOString()}` });
    await world.put("all:list", { when: ["0 11 * * *", `at ${at("11:31:00").toISOString()}`] });
    const rows = await agendaOf({ prefix: "all:" }, [at("11:00:00"), at("11:40:00")]);
    expect(shown(rows)).toEqual([
      "11:00:00 all:cron planned",
      "11:00:00 all:list planned",
      "11:10:00 all:once planned",
      "11:20:00 all:cron planned",
      "11:20:00 all:interval planned",
      "11:31:00 all:list planned",
    ]);
  });

  test("A filter by group, tag or target lists the same rows as the window of all schedules", async () => {
    await world.put("by:a", { when: "30 12 * * *", group: "by", tags: ["by"], target: { queue: "by" } });
    await world.put("by:b", { when: "30 12 * * *" });
    const window = [at("12:30:00"), at("12:31:00")] as const;
    const named = (rows: readonly AgendaRow[]) =>
      rows.map(({ key }) => key).filter((key) => key.startsWith("by:"));
    for (const filter of [{ group: "by" }, { tag: "by" }, { target: "queue/by" }])
      expect(named(await agendaOf(filter, window))).toEqual(["by:a"]);
    expect(named(await agendaOf({}, window))).toEqual(["by:a", "by:b"]);
  });

  test("An occurrence that is due later than it occurs is listed at its occurrence, with its due time", async () => {
    await world.put("late:slot", { when: "every 1h", startsAt: at("13:10:00").toISOString(), slot: "45m" });
    const [row] = await agendaOf({ prefix: "late:" }, [at("13:10:00"), at("13:11:00")]);
    expect(row).toMatchObject({ occurrence: at("13:10:00"), dueAt: at("13:30:00"), outcome: "planned" });
  });

  test("Occurrences before `startsAt`, from `endsAt` on, and beyond `maxFires` are not listed", async () => {
    const ends = { startsAt: at("14:10:00").toISOString(), endsAt: at("14:40:00").toISOString() };
    await world.put("ends:window", { when: "*/10 * * * *", ...ends });
    await world.put("ends:fires", { when: "*/10 14 * * *", maxFires: 2 });
    const rows = await agendaOf({ prefix: "ends:" }, [at("14:00:00"), at("15:00:00")]);
    expect(shown(rows)).toEqual([
      "14:00:00 ends:fires planned",
      "14:10:00 ends:fires planned",
      "14:10:00 ends:window planned",
      "14:20:00 ends:window planned",
      "14:30:00 ends:window planned",
    ]);
  });

  test("Occurrences under a hold are marked as held, those after its end are planned", async () => {
    await world.put("held:until", { when: "*/10 * * * *" });
    await world.put("held:open", { when: "5 15 * * *" });
    await world.pause("held:until", { until: at("15:15:00") });
    await world.pause("held:open");
    const rows = await agendaOf({ prefix: "held:" }, [at("15:00:00"), at("15:30:00")]);
    expect(shown(rows)).toEqual([
      "15:00:00 held:until held",
      "15:05:00 held:open held",
      "15:10:00 held:until held",
      "15:20:00 held:until planned",
    ]);
  });

  test("A calendar that skips a day marks its occurrences, one that moves them shows them where they went and from where", async () => {
    const { sql, queue } = world;
    const read = readCalendarRules({ dates: ["2026-03-03"] });
    if (!read.ok) throw new Error("The calendar is not understood.");
    const body = { description: null, rules: read.rules };
    await putCalendar({ sql, queue }, { name: "off", body, caller: { name: "ann" } });
    await world.put("off:skip", { when: "0 16 * * *", calendar: { name: "off", on: "skip" } });
    await world.put("off:next", { when: "0 16 * * *", calendar: { name: "off", on: "next" } });
    const rows = await agendaOf({ prefix: "off:" }, [at(day - hour), at(3 * day)]);
    expect(
      rows.map(({ occurrence, key, outcome }) => `${occurrence.getUTCDate()} ${key} ${outcome}`),
    ).toEqual(["3 off:skip skipped", "4 off:next planned", "4 off:skip planned"]);
    expect(rows.map(({ note }) => note)).toEqual([
      null,
      "also takes what the calendar moved from 2026-03-03",
      null,
    ]);
  });

  test("A schedule that was edited, restored or deleted is listed as it is now", async () => {
    await world.put("edit:cron", { when: "0 17 * * *" });
    await world.put("edit:gone", { when: "0 17 * * *" });
    await world.patch("edit:cron", { when: "every 15m", startsAt: at("17:05:00").toISOString() });
    await world.remove("edit:gone");
    const window = [at("17:00:00"), at("17:30:00")] as const;
    expect(shown(await agendaOf({ prefix: "edit:" }, window))).toEqual([
      "17:05:00 edit:cron planned",
      "17:20:00 edit:cron planned",
    ]);
    await world.put("edit:cron", { when: `at ${at("17:10:00").toISOString()}` });
    expect(shown(await agendaOf({ prefix: "edit:" }, window))).toEqual(["17:10:00 edit:cron planned"]);
  });
});

describe("counts", () => {
  test("Occurrences are counted by cadence, and intervals by their phases", async () => {
    await world.put("count:a", { when: "*/30 * * * *" });
    await world.put("count:b", { when: "*/30 * * * *" });
    await world.put("count:c", { when: "every 1h", startsAt: at("10:40:00").toISOString() });
    await world.put("count:d", { when: "every 1h", startsAt: at("10:20:00").toISOString() });
    await world.put("count:e", { when: `at ${at("19:00:00").toISOString()}` });
    const counted = await countsOf({ prefix: "count:" }, at("18:30:00"), at("20:00:00"));
    expect(counted).toMatchObject({ occurrences: 10, cadences: 3, exact: true });
    const plain = { calendar: null, leftOut: 0 };
    expect(counted.items).toEqual([
      {
        rule: expect.any(Number),
        when: "*/30 * * * *",
        timezone: "UTC",
        ...plain,
        sample: "count:a",
        schedules: 2,
        occurrences: 6,
      },
      {
        rule: -hour,
        when: "every 1h",
        timezone: null,
        ...plain,
        sample: "count:d",
        schedules: 2,
        occurrences: 3,
      },
      {
        rule: 0,
        when: null,
        timezone: null,
        ...plain,
        sample: "count:e",
        schedules: 1,
        occurrences: 1,
      },
    ]);
  });

  test("The counts of all schedules include those of each prefix", async () => {
    const window = [at("18:30:00"), at("20:00:00")] as const;
    const all = await countsOf({}, ...window);
    expect(all.exact).toBe(true);
    expect(all.items.find(({ when }) => when === "*/30 * * * *")).toMatchObject({ occurrences: 6 });
    const prefixes = ["all:", "by:", "late:", "ends:", "held:", "off:", "edit:", "count:"];
    const each = await Promise.all(prefixes.map((prefix) => countsOf({ prefix }, ...window)));
    expect(all.occurrences).toBe(each.reduce((sum, { occurrences }) => sum + occurrences, 0));
  });
});

describe("past occurrences", () => {
  let past: Carillon;
  let before: Carillon;

  beforeAll(async () => {
    before = world;
    past = await carillon();
    world = past;
    await past.tick();
  });

  afterAll(async () => {
    await past.stop();
    world = before;
  });

  test("Past occurrences have their outcome, passed-over ones the range and its reason", async () => {
    await past.put("past:ok", { when: "*/2 * * * *" });
    await past.put("past:gone", { when: "1 10 * * *" });
    await past.put("past:paused", { when: "*/2 * * * *", catchUp: { policy: "skip" } });
    await past.put("passed", { when: "every 5s", catchUp: { policy: "skip" } });
    await past.pause("past:paused");
    await past.pause("passed");
    for (let n = 0; n < 5; n++) {
      await past.clock.advance(minute);
      await past.tick();
      await past.work();
    }
    await past.remove("past:gone");
    await past.resume("past:paused");
    await past.resume("passed");
    const rows = await agendaOf({ prefix: "past:" }, [at(0), at(8 * minute)]);
    expect(shown(rows)).toEqual([
      "10:01:00 past:gone ran",
      "10:02:00 past:ok ran",
      "10:02:00 past:paused skipped paused",
      "10:04:00 past:ok ran",
      "10:04:00 past:paused waiting",
      "10:06:00 past:ok planned",
      "10:06:00 past:paused planned",
    ]);
    expect(rows[5]).toMatchObject({ outcome: "planned", job: { state: "waiting" } });
    const ranges = await agendaOf({ prefix: "passed" }, [at(0), at(minute)]);
    const range = ranges.find(({ passedOver }) => passedOver !== null);
    expect(range).toMatchObject({ outcome: "skipped", reason: "paused", dueAt: null, job: null });
    expect(range?.occurrence).toEqual(range?.passedOver?.to);
    const { from, to, count } = range?.passedOver ?? { from: at(0), to: at(0), count: 0 };
    expect(count).toBe(1 + (to.getTime() - from.getTime()) / (5 * second));
  });

  test("An occurrence is past before it is due, and then still listed as planned", async () => {
    for (let n = 0; n < 20; n++) await past.put(`lag:${n}`, { when: "*/2 * * * *", spread: "10m" });
    await past.clock.advance(minute);
    await past.tick();
    const rows = await agendaOf({ prefix: "lag:" }, [at("10:06:00"), at("10:06:01")]);
    expect(rows).toHaveLength(20);
    expect(
      rows.every(({ outcome, dueAt }) => outcome === "planned" && dueAt !== null && dueAt > past.clock.now()),
    ).toBe(true);
    expect(new Set(rows.map(({ job }) => job === null))).toEqual(new Set([true, false]));
  });

  test("While the ticks are behind, an occurrence without a job is said to be not planned yet", async () => {
    await past.put("behind", { when: "0 11 * * *" });
    await past.clock.setNow(at("11:01:00"));
    const rows = await agendaOf({ prefix: "behind" }, [at("10:59:00"), at("11:02:00")]);
    expect(shown(rows)).toEqual(["11:00:00 behind not-planned-yet"]);
    await past.tick();
    expect(shown(await agendaOf({ prefix: "behind" }, [at("10:59:00"), at("11:02:00")]))).toEqual([
      "11:00:00 behind waiting",
    ]);
  });

  test("A past occurrence under a hold that is in force is listed as held", async () => {
    await past.put("on-hold", { when: "*/1 * * * *" });
    const now = past.clock.now().getTime();
    await past.pause("on-hold");
    await past.clock.advance(3 * minute);
    await past.tick();
    for (const filter of [{ prefix: "on-hold" }, {}]) {
      const rows = await agendaOf(filter, [new Date(now), past.clock.now()]);
      const held = rows.filter(({ key }) => key === "on-hold");
      expect(held.map(({ outcome }) => outcome)).toEqual(["held", "held"]);
    }
  });

  test("Jobs that wait for the end of a hold are listed as held, also if that end is known", async () => {
    await past.put("held-until", { when: "*/1 * * * *", catchUp: { policy: "all" } });
    const now = past.clock.now().getTime();
    await past.pause("held-until", { until: new Date(now + 10 * minute) });
    for (const _ of [1, 2, 3]) {
      await past.clock.advance(minute);
      await past.tick();
    }
    const { items } = await readLastRuns(past.sql, { keys: ["held-until"], most: 2 });
    expect(items[0]?.runs.map(({ outcome }) => outcome)).toEqual(["held", "held"]);
    const rows = await agendaOf({ prefix: "held-until" }, [new Date(now), past.clock.now()]);
    expect(rows.map(({ outcome }) => outcome)).toEqual(["held", "held"]);
    for (const { key, occurrence } of rows)
      expect((await explain(past.sql, { key, at: occurrence })).outcome).toBe("held");
  });

  test("Schedules of an interval that occur in two parts of a window are counted together", async () => {
    await past.put("parts:late", { when: "every 1h", startsAt: at("10:50:00").toISOString() });
    await past.put("parts:early", { when: "every 1h", startsAt: at("10:10:00").toISOString() });
    const { items } = await countsOf({ prefix: "parts:" }, at("18:45:00"), at("19:15:00"));
    expect(items).toMatchObject([{ schedules: 2, occurrences: 2 }]);
  });

  test("Manual runs and rechecks are listed by their kind", async () => {
    const { sql, queue } = past;
    await fireNow({ sql, queue }, { key: "behind", caller: { name: "ann" } });
    const now = past.clock.now();
    const rows = await agendaOf({ prefix: "behind" }, [now, new Date(now.getTime() + second)]);
    expect(rows.map(({ kind, key }) => [kind, key])).toEqual([["manual", "behind"]]);
  });
});
