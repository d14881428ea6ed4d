import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { countAgenda } from "../../lib/agenda/counts.ts";
import { readRule, ruleText } from "../../lib/agenda/rule-text.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, hour, minute } from "../support/instants.ts";
import { agendaPages } from "./pages.ts";

let world: Carillon;

beforeAll(async () => {
  world = await carillon();
  await world.put("a:cron", { when: "*/20 * * * *", group: "mine" });
  await world.put("b:cron", { when: "*/20 * * * *" });
  await world.put("b:zone", { when: "*/20 * * * *", timezone: "Europe/Berlin" });
  await world.put("a:every", { when: "every 25m", startsAt: at(5 * minute).toISOString() });
  await world.put("b:every", { when: "every 25m", startsAt: at(9 * minute).toISOString() });
  await world.put("a:once", { when: `at ${at(70 * minute).toISOString()}`, group: "mine" });
  await world.put("b:once", { when: `at ${at(30 * minute).toISOString()}` });
  for (let passed = 0; passed < 60; passed++) {
    await world.tick();
    await world.work();
    await world.clock.advance(minute);
  }
});

afterAll(() => world.stop());

const counted = (filter: object, window: readonly [Date, Date]) =>
  countAgenda(world.sql, { from: window[0].getTime(), to: window[1].getTime() }, filter);

describe("the agenda of one rule", () => {
  test.each([
    ["all schedules", {}],
    ["a prefix", { prefix: "a:" }],
    ["a group", { group: "mine" }],
  ])("Each count of %s lists as many occurrences by its rule as it says", async (_name, filter) => {
    const window = [at(hour), at(2 * hour)] as const;
    const { items } = await counted(filter, window);
    expect(items.length).toBeGreaterThan(1);
    const listed = await Promise.all(
      items.map(({ rule }) => agendaPages(world.sql, { ...filter, rule }, window, 2)),
    );
    expect(listed.map((rows) => rows.length)).toEqual(items.map(({ occurrences }) => occurrences));
    const all = await agendaPages(world.sql, filter, window, 100);
    const names = (rows: typeof all) => rows.map(({ occurrence, key }) => `${occurrence.getTime()} ${key}`);
    expect(names(listed.flat()).toSorted()).toEqual(names(all).toSorted());
  });

  test.each([
    ["alone", {}, ["a:every", "b:every"]],
    ["under a prefix", { prefix: "b:" }, ["b:every"]],
  ])("Past runs are those of schedules with the rule %s", async (_name, filter, keys) => {
    const window = [at(0), at(hour)] as const;
    const rule = -25 * minute;
    const rows = await agendaPages(world.sql, { ...filter, rule }, window, 1);
    expect([...new Set(rows.map(({ key }) => key))].toSorted()).toEqual(keys);
    expect(rows.every(({ outcome }) => outcome === "ran")).toBe(true);
  });

  test("The counts of one rule are those that it has among all", async () => {
    const window = [at(hour), at(2 * hour)] as const;
    const { items } = await counted({}, window);
    for (const item of items) {
      const own = await counted({ rule: item.rule }, window);
      expect(own).toMatchObject({ cadences: 1, occurrences: item.occurrences, items: [item], exact: true });
    }
  });

  test("A rule that no schedule has gives nothing", async () => {
    const window = [at(0), at(2 * hour)] as const;
    for (const rule of [-7, 2_000_000_000]) {
      expect(await agendaPages(world.sql, { rule }, window, 10)).toEqual([]);
      expect(await counted({ rule }, window)).toMatchObject({ cadences: 0, occurrences: 0 });
    }
  });
});

describe("the name of a rule", () => {
  test.each([0, -1, -60_000, -99_999_999_999_999, 1, 2 ** 31 - 1])("The name of %i is read as it", (rule) => {
    expect(readRule(ruleText(rule))).toBe(rule);
  });

  test.each([
    "",
    "7",
    "-7",
    "every-0",
    "cadence-0",
    "cadence-2147483648",
    "cadence-99999999999",
    "Once",
    "once ",
  ])("%j is no rule", (text) => {
    expect(readRule(text)).toBeNull();
  });
});
