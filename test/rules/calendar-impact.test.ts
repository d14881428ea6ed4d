import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readCalendarRules } from "../../lib/cadence/calendar-rules.ts";
import { nextOccurrences } from "../../lib/history/next-occurrences.ts";
import { putCalendar } from "../../lib/rules/calendar-edits.ts";
import { calendarImpact } from "../../lib/rules/calendar-impact.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { day } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  await world.tick();
});

afterEach(() => world.stop());

interface Rules {
  dates?: string[];
  weekly?: string[];
}

function bodyOf(rules: Rules) {
  const read = readCalendarRules(rules);
  if (!read.ok) throw new Error(JSON.stringify(read.faults));
  return { description: null, rules: read.rules };
}

const put = (rules: Rules) =>
  putCalendar(
    { sql: world.sql, queue: world.queue },
    { name: "c", body: bodyOf(rules), caller: { name: "cal" } },
  );
const impact = (rules: Rules, timeIsUp?: () => boolean) =>
  calendarImpact(world.sql, { name: "c", body: bodyOf(rules) }, timeIsUp);

const runs = async (key: string, from: Date) =>
  (await nextOccurrences(world.sql, { key, n: 5, from: from.getTime() - 1 })).occurrences.map(
    ({ at }) => new Date(at),
  );

describe("the impact of a calendar", () => {
  test("A calendar that is new, unchanged or unused affects nothing", async () => {
    expect(await impact({ dates: ["12-25"] })).toMatchObject({ change: "created", schedules: 0 });
    await put({ dates: ["12-25"] });
    expect(await impact({ dates: ["12-25"] })).toMatchObject({ change: "unchanged", affected: 0 });
    expect(await impact({ dates: ["12-24"] })).toMatchObject({ change: "changed", schedules: 0, looked: 0 });
  });

  test.each(["skip", "next", "previous"] as const)(
    "The preview of a calendar has the runs that its schedules have before and after the change: on %s",
    async (on) => {
      await put({ weekly: ["sun"] });
      await world.put("daily", { when: "0 9 * * *", timezone: "Europe/Berlin", calendar: { name: "c", on } });
      await world.put("hours", { when: "0 9,15 * * 2", calendar: { name: "c", on } });
      const rules = { weekly: ["sun"], dates: ["2026-12-23"] };
      const { samples, ...told } = await impact(rules);
      expect(told).toEqual({ change: "changed", schedules: 2, more: false, looked: 2, affected: 1 });
      const [daily] = samples;
      expect(daily?.key).toBe("daily");
      const from = daily?.before[0] ?? new Date(0);
      const begin = new Date(Math.min(from.getTime(), daily?.after[0]?.getTime() ?? 0));
      expect(daily?.before).toEqual(await runs("daily", begin));
      await put(rules);
      expect(daily?.after).toEqual(await runs("daily", begin));
      expect(Math.abs(begin.getTime() - Date.parse("2026-12-23T08:00:00Z"))).toBeLessThanOrEqual(day);
    },
  );

  test("A yearly day off that is most of a year away affects a schedule of every ten minutes", async () => {
    await put({ dates: ["12-25"] });
    await world.put("often", { when: "*/10 * * * *", calendar: { name: "c" } });
    await world.put("mondays", { when: "0 9 * * 1", calendar: { name: "c" } });
    const { affected, samples } = await impact({ dates: ["01-20"] });
    // In 2027 the 20th of January is a Wednesday.
    expect({ affected, keys: samples.map(({ key }) => key) }).toEqual({ affected: 1, keys: ["often"] });
    expect(samples[0]?.before[0]?.toISOString()).toBe("2026-12-26T00:00:00.000Z");
    expect(samples[0]?.after[0]?.toISOString()).toBe("2026-12-25T00:00:00.000Z");
  });

  test("A preview writes nothing, and counts no schedule as compared once its time is up", async () => {
    await put({ weekly: ["sun"] });
    for (const key of ["a", "b", "c"]) await world.put(key, { when: "0 9 * * *", calendar: { name: "c" } });
    const [before] = await world.sql`select count(*)::int as versions from carillon.schedule_versions`;
    let calls = 0;
    expect(await impact({ weekly: ["sat"] }, () => calls++ >= 2)).toMatchObject({ schedules: 3, looked: 2 });
    expect(await world.sql`select count(*)::int as versions from carillon.schedule_versions`).toEqual([
      before,
    ]);
    expect(await world.sql`select version from carillon.calendars`).toEqual([{ version: 1 }]);
  });
});
