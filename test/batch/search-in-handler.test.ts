import { afterEach, beforeEach, expect, test } from "vitest";
import { applyEditsInside, type EditInside } from "../../lib/batch/edits-inside.ts";
import { readCalendarRules } from "../../lib/cadence/calendar-rules.ts";
import { Refusal } from "../../lib/refusal.ts";
import { putCalendar } from "../../lib/rules/calendar-edits.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { countLooks, handlersTransaction, type Watched, watchSearches } from "./searches-under-locks.ts";

let world: Carillon;
let watched: Watched;
let calendars = 0;
let spring: string;

beforeEach(async () => {
  world = await carillon();
  watched = watchSearches(world.databaseUrl, handlersTransaction);
  calendars += 1;
  spring = `spring-${calendars}`;
  // Each test has its own rules, since the process remembers the searches of a rule set.
  const read = readCalendarRules({ dates: ["02-01..04-30", `1991-01-${10 + calendars}`] });
  if (!read.ok) throw new Error("The calendar rules could not be read.");
  const body = { description: null, rules: read.rules };
  await putCalendar({ sql: world.sql, queue: world.queue }, { name: spring, body, caller: { name: "ann" } });
});

afterEach(async () => {
  await watched.stop();
  await world.stop();
});

/** Fewer visited days than one search takes, which visits thousands. */
const few = 500;

const put = (key: string, when: string): EditInside => ({
  kind: "put",
  key,
  body: parseScheduleBody({ target: { queue: "demo" }, when, calendar: { name: spring, on: "next" } }),
});

/** Applies the edits in a transaction in which the handler has written a row before. */
function inHandler(edits: readonly EditInside[]): Promise<unknown> {
  watched.looksInside();
  watched.taken();
  return watched.sql.begin(async (tx) => {
    await tx`insert into public.written values (1)`;
    await applyEditsInside(tx, edits, { author: "handler:a", parcelId: "0", schedules: [] });
  });
}

const savepoints = () => watched.taken().filter((text) => text.startsWith("savepoint")).length;

beforeEach(() => world.sql`create table public.written (id int)`);

test("A search for a handler's put years from now rolls back the edits only, and keeps the handler's own rows", async () => {
  await inHandler([put("a", "cron(0 9 1 6 ? 2060)")]);
  expect(savepoints()).toBe(2);
  expect(await world.sql`select occurrence from carillon.plan_far`).toEqual([
    { occurrence: new Date("2060-06-01T09:00:00Z") },
  ]);
  expect(await world.sql`select id from public.written`).toEqual([{ id: 1 }]);
});

test("All of a handler's puts on days years from now, new or replacing, are searched together", async () => {
  const keys = Array.from({ length: 40 }, (_, n) => `a:${n}`);
  for (const key of keys.slice(20)) await world.put(key, { when: "every 1h" });
  await inHandler(keys.map((key, n) => put(key, `cron(${n} 9 1 6 ? 2060)`)));
  expect(watched.looksInside()).toBeLessThan(few);
  expect(savepoints()).toBe(1);
});

test("A handler's edits search for jobs years from now without holding their locks, and once for all of them", async () => {
  const keys = Array.from({ length: 40 }, (_, n) => `a:${n}`);
  await inHandler(keys.map((key, n) => put(key, `cron(${n} 9 1 6 ? 2060)`)));
  // This process has not searched for the instants of the year 2070 yet, so it has no result to
  // remember.
  await world.sql`update carillon.cadences set expression = replace(expression, '2060', '2070')`;
  await inHandler(
    keys.map((key, n) => (n < 20 ? { kind: "cancel", key } : put(key, `cron(${n} 10 1 6 ? 2060)`))),
  );
  expect(watched.looksInside()).toBeLessThan(few);
  expect(savepoints()).toBeLessThanOrEqual(2);
});

test("A handler's put on days that its calendar always excludes is searched without the put's locks, and refused", async () => {
  await expect(inHandler([put("a", "0 9 28 2 *")])).rejects.toThrow(Refusal);
  expect(watched.looksInside()).toBeLessThan(few);
  expect(await world.sql`select id from public.written`).toEqual([]);
});

test("The searches of one handler's transaction share a time limit, and a retry continues from the found occurrences until the edits succeed", async () => {
  const edits = Array.from({ length: 6 }, (_, n) => put(`a:${n}`, `cron(${n} 9 1 6 ? 2060)`));
  // Each visited day counts as ten milliseconds, so that one search exceeds the limit of a
  // transaction.
  const looks = countLooks();
  let passed = 0;
  const now = () => {
    passed += looks.since();
    return passed * 10;
  };
  const attempt = () =>
    world.sql.begin(async (tx) => {
      await tx`insert into public.written values (1)`;
      await applyEditsInside(tx, edits, { author: "handler:a", parcelId: "0", schedules: [], now });
    });
  const refused: string[] = [];
  const isDone = () =>
    attempt().then(
      () => true,
      (error: Error) => refused.push(error.message) === 0,
    );
  while (!(await isDone()) && refused.length < 20);
  looks.stop();
  expect(refused.length).toBeGreaterThan(0);
  expect(refused.length).toBeLessThan(20);
  for (const message of refused)
    expect(message).toContain("A retry continues from the occurrences found so far");
  expect(await world.sql`select from carillon.plan_far`).toHaveLength(6);
  expect(await world.sql`select id from public.written`).toEqual([{ id: 1 }]);
});
