import { afterAll, beforeAll, expect, test } from "vitest";
import { countAgenda } from "../../lib/agenda/counts.ts";
import type { AgendaFilter } from "../../lib/agenda/window.ts";
import { readCalendarRules } from "../../lib/cadence/calendar-rules.ts";
import { putCalendar } from "../../lib/rules/calendar-edits.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, day, hour } from "../support/instants.ts";
import { agendaPages } from "./pages.ts";

let world: Carillon;

/** The clock begins on Monday, 2 March 2026. */
beforeAll(async () => {
  world = await carillon();
  await world.tick();
  const { sql, queue } = world;
  const read = readCalendarRules({ dates: ["2026-03-04"], weekly: ["sat", "sun"] });
  if (!read.ok) throw new Error("The calendar is not understood.");
  const body = { description: null, rules: read.rules };
  await putCalendar({ sql, queue }, { name: "off", body, caller: { name: "ann" } });
  const put = (key: string, when: string, more = {}) =>
    world.put(key, { when, timezone: "Europe/Berlin", ...more });
  for (const n of [1, 2, 3]) await put(`skip:${n}`, "0 9 * * *", { calendar: { name: "off", on: "skip" } });
  await put("skip:often", "*/10 * * * *", { calendar: { name: "off", on: "skip" } });
  await put("next:a", "0 9 * * *", { calendar: { name: "off", on: "next" } });
  await put("plain:a", "0 9 * * *");
  await put("plain:every", "every 8h");
});

afterAll(() => world.stop());

const week = { from: at(day).getTime(), to: at(8 * day).getTime() };

const countsOf = (filter: AgendaFilter, window = week) => countAgenda(world.sql, window, filter);

test.each([{}, { prefix: "skip:" }, { prefix: "plain:" }, { prefix: "next:" }])(
  "The counts say how many occurrences a calendar leaves out: as many as the list shows as skipped (%o)",
  async (filter) => {
    const rows = await agendaPages(world.sql, filter, [new Date(week.from), new Date(week.to)], 100);
    const counts = await countsOf(filter);
    const left = rows.filter(({ outcome, reason }) => outcome === "skipped" && reason === "calendar");
    expect(counts).toMatchObject({ occurrences: rows.length, leftOut: left.length, exact: true });
    expect(counts.items.reduce((sum, { leftOut }) => sum + leftOut, 0)).toBe(left.length);
    const isSkipped = filter.prefix === undefined || filter.prefix === "skip:";
    expect(left.length > 0).toBe(isSkipped);
  },
);

test("Each cadence has its own number, and those with most runs come first", async () => {
  const { items } = await countsOf(
    {},
    { from: at(4 * day + 14 * hour).getTime(), to: at(7 * day).getTime() },
  );
  expect(
    items.map(({ when, calendar, occurrences, leftOut }) => [when, calendar?.on, occurrences, leftOut]),
  ).toEqual([
    ["*/10 * * * *", "skip", 348, 282],
    ["every 8h", undefined, 7, 0],
    ["0 9 * * *", "skip", 9, 6],
    ["0 9 * * *", undefined, 3, 0],
    ["0 9 * * *", "next", 1, 0],
  ]);
});

test("A month of a minute's cron has at least as many runs and as many left out as are counted", async () => {
  await world.put("month:a", { when: "* * * * *", timezone: "UTC", calendar: { name: "off", on: "skip" } });
  const { occurrences, leftOut, exact } = await countsOf(
    { prefix: "month:" },
    { from: at(day).getTime(), to: at(33 * day).getTime() },
  );
  expect({ occurrences, leftOut, exact }).toEqual({ occurrences: 20_000, leftOut: 10_000, exact: false });
});
