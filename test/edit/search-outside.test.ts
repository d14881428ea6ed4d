import { afterEach, beforeEach, expect, test } from "vitest";
import { applyOperations } from "../../lib/batch/apply-operations.ts";
import type { Operation } from "../../lib/batch/operation.ts";
import { nextRunAfter } from "../../lib/cadence/cadence.ts";
import { readCalendarRules } from "../../lib/cadence/calendar-rules.ts";
import { withoutFarSearches } from "../../lib/cadence/far-searches.ts";
import { patchSchedule, putSchedule } from "../../lib/edit/schedule-edits.ts";
import { searchingOutside } from "../../lib/edit/search-outside.ts";
import { Refusal } from "../../lib/refusal.ts";
import { putCalendar } from "../../lib/rules/calendar-edits.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { type Watched, watchSearches } from "../batch/searches-under-locks.ts";
import { calendared, cron } from "../cadence/arbitrary-calendared.ts";
import { rulesOf } from "../cadence/arbitrary-rules.ts";
import { type Carillon, carillon } from "../support/carillon.ts";

let world: Carillon;
let watched: Watched;
let calendars = 0;
let spring: string;

beforeEach(async () => {
  world = await carillon();
  watched = watchSearches(world.databaseUrl);
  calendars += 1;
  spring = `spring-${calendars}`;
  // Each test has its own rules, since the process remembers the searches of a rule set.
  const read = readCalendarRules({ dates: ["02-01..04-30", `1990-01-${10 + calendars}`] });
  if (!read.ok) throw new Error("The calendar rules could not be read.");
  const body = { description: null, rules: read.rules };
  await putCalendar({ sql: world.sql, queue: world.queue }, { name: spring, body, caller });
});

afterEach(async () => {
  await watched.stop();
  await world.stop();
});

const caller = { name: "ann" };
const deps = () => ({ sql: watched.sql, queue: world.queue });
const onSpring = (on: "skip" | "next", when: string) => ({ when, calendar: { name: spring, on } });
/** Fewer visited days than one search takes, which visits thousands. */
const few = 500;

const rollbacks = () => watched.taken().filter((text) => text === "rollback").length;

test.each(["skip", "next"] as const)(
  "A patch whose occurrences a calendar always excludes is searched before its locks, and refused (%s)",
  async (on) => {
    await world.put("a", { when: "0 9 * * *" });
    watched.looksInside();
    const patch = onSpring(on, "0 9 28 2 *");
    await expect(patchSchedule(deps(), { key: "a", patch, caller })).rejects.toThrow(Refusal);
    expect(watched.looksInside()).toBeLessThan(few);
  },
);

test.each(["skip", "next"] as const)(
  "A put and a patch with occurrences years from now are searched before their locks, and show these (%s)",
  async (on) => {
    const when = "cron(0 9 1 6 ? 2060,2070,2080)";
    const body = parseScheduleBody({ target: { queue: "demo" }, ...onSpring(on, when) });
    watched.looksInside();
    const made = await putSchedule(deps(), { key: "a", body, caller });
    const patched = await patchSchedule(deps(), { key: "a", patch: { payload: 1 }, caller });
    expect(watched.looksInside()).toBeLessThan(few);
    for (const { changes } of [made, patched])
      expect(changes.after.map((at) => at.getUTCFullYear())).toEqual([2060, 2070, 2080]);
  },
);

test("Patches of a batch whose occurrences a calendar always excludes are searched before the locks, with one rollback", async () => {
  const keys = Array.from({ length: 40 }, (_, n) => `a:${n}`);
  for (const key of keys) await world.put(key, { when: "every 1h" });
  const patches = keys.map(
    (key, n): Operation => ({ kind: "patch", key, caller, patch: onSpring("next", `${n} 9 28 2 *`) }),
  );
  watched.looksInside();
  watched.taken();
  const applied = await applyOperations(deps(), patches);
  expect(watched.looksInside()).toBeLessThan(few);
  expect(rollbacks()).toBe(1);
  expect(new Set(applied.map(({ change }) => change))).toEqual(new Set(["refused"]));
});

test("A batch of patches of schedules that run years from now is rolled back once, and then searches before its locks", async () => {
  const keys = Array.from({ length: 40 }, (_, n) => `a:${n}`);
  for (const [n, key] of keys.entries()) await world.put(key, onSpring("next", `cron(${n} 9 1 6 ? 2060)`));
  // This process has not searched for the instants of the year 2070 yet, so it has no result to
  // remember.
  await world.sql`update carillon.cadences set expression = replace(expression, '2060', '2070')`;
  watched.looksInside();
  watched.taken();
  const patches = keys.map((key): Operation => ({ kind: "patch", key, caller, patch: { payload: 1 } }));
  const applied = await applyOperations(deps(), patches);
  expect(watched.looksInside()).toBeLessThan(few);
  expect(rollbacks()).toBe(1);
  expect(new Set(applied.map(({ change }) => change))).toEqual(new Set(["changed"]));
});

test("An edit whose next occurrence lies within a year begins its transaction once", async () => {
  await world.put("a", onSpring("next", "0 9 28 2,6 *"));
  watched.taken();
  await patchSchedule(deps(), { key: "a", patch: onSpring("skip", "0 9 * * MON"), caller });
  expect(rollbacks()).toBe(0);
});

test("A transaction that meets a new long search at every attempt makes the search itself in the end", async () => {
  const rules = rulesOf({ dates: ["02-01..04-30"] });
  let begun = 0;
  const found = await searchingOutside(async () => {
    begun += 1;
    const cadence = calendared(cron(`${begun} 9 28 2 *`, "UTC"), "next", rules, "UTC");
    return nextRunAfter(cadence, Date.parse("2026-03-02T10:00:00Z"));
  });
  expect([found, begun]).toEqual([null, 11]);
});

test("Five occurrences that lie a year and more apart are each remembered", async () => {
  const rules = rulesOf({ dates: ["02-01..04-30"] });
  const cadence = calendared(cron("0 9 29 1,2 THU#5", "UTC"), "skip", rules, "UTC");
  const ask = async () => {
    const found: (number | null)[] = [];
    for (let at: number | null = Date.parse("2026-03-02T10:00:00Z"); at !== null && found.length < 5; ) {
      at = nextRunAfter(cadence, at);
      found.push(at);
    }
    return found;
  };
  const free = await ask();
  expect(await withoutFarSearches(ask)).toEqual(free);
});
