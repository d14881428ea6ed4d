import { afterAll, beforeAll, expect, test } from "vitest";
import { readStrip } from "../../lib/agenda/strip.ts";
import { readCalendarRules } from "../../lib/cadence/calendar-rules.ts";
import { putCalendar } from "../../lib/rules/calendar-edits.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute } from "../support/instants.ts";
import { agendaPages } from "./pages.ts";

let world: Carillon;

beforeAll(async () => {
  world = await carillon();
  await world.tick();
});

afterAll(() => world.stop());

const agendaOf = async (key: string, window: readonly [Date, Date]) =>
  (await agendaPages(world.sql, { prefix: key }, window, 7)).map(({ occurrence, outcome }) => [
    occurrence,
    outcome,
  ]);

async function stripOf(key: string, [from, to]: readonly [Date, Date]) {
  const window = { from: from.getTime(), to: to.getTime() };
  const { items } = await readStrip(world.sql, { key, window, limit: 100 });
  return items.map((item) => [item.at, item.outcome]);
}

async function minutes(count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    await world.clock.advance(minute);
    await world.tick();
    await world.work();
  }
}

test("Occurrences under a hold stay in the agenda after an edit that keeps the cadence", async () => {
  const { sql, queue } = world;
  const read = readCalendarRules({ dates: ["2026-03-02"] });
  if (!read.ok) throw new Error("The calendar is not understood.");
  const body = { description: null, rules: read.rules };
  await putCalendar({ sql, queue }, { name: "off", body, caller: { name: "ann" } });
  await world.put("edit:cron", { when: "* * * * *" });
  await world.put("edit:off", { when: "* * * * *", calendar: { name: "off", on: "skip" } });
  for (const key of ["edit:cron", "edit:off"]) await world.pause(key);
  const from = world.clock.now();
  await minutes(4);
  for (const key of ["edit:cron", "edit:off"]) await world.patch(key, { payload: { again: true } });
  await minutes(2);
  const window = [new Date(from.getTime() + 1), world.clock.now()] as const;
  for (const [key, outcome] of [
    ["edit:cron", "held"],
    ["edit:off", "skipped"],
  ] as const) {
    const rows = await agendaOf(key, window);
    expect(rows.map(([, each]) => each)).toEqual(Array(5).fill(outcome));
    expect(rows).toEqual(await stripOf(key, window));
  }
});

test("Occurrences under a hold stay in the agenda between its end and the tick that clears it", async () => {
  await world.put("end:cron", { when: "* * * * *", catchUp: { policy: "skip" } });
  await minutes(1);
  const from = world.clock.now();
  await world.pause("end:cron", { until: new Date(from.getTime() + 10 * minute) });
  await minutes(2);
  await world.clock.advance(10 * minute);
  const window = [new Date(from.getTime() + 1), world.clock.now()] as const;
  const rows = await agendaOf("end:cron", window);
  expect(rows).toEqual(await stripOf("end:cron", window));
  expect(rows.filter(([, outcome]) => outcome === "held").length).toBeGreaterThan(5);
});

test("A passed-over range is listed only in windows in which it has an occurrence", async () => {
  await world.put("range", { when: "*/10 * * * *", catchUp: { policy: "skip" } });
  await world.clock.setNow(at("14:00:30"));
  await world.tick();
  const listed = async (from: string, to: string) =>
    (await agendaPages(world.sql, { prefix: "range" }, [at(from), at(to)], 7)).length;
  expect(await listed("12:31:00", "12:34:00")).toBe(0);
  expect(await listed("12:39:00", "12:40:01")).toBe(1);
});
