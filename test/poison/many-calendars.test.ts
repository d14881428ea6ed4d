import { afterEach, beforeEach, expect, test } from "vitest";
import { applyOperations } from "../../lib/batch/apply-operations.ts";
import type { Operation } from "../../lib/batch/operation.ts";
import { type CalendarRules, readCalendarRules } from "../../lib/cadence/calendar-rules.ts";
import { putCalendar } from "../../lib/rules/calendar-edits.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { planSteps, unknownZone } from "./plan-steps.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const caller = { name: "ann" };

function rulesWithout(day: string): CalendarRules {
  const read = readCalendarRules({ weekly: [day] });
  if (!read.ok) throw new Error("The rules are invalid.");
  return read.rules;
}

/**
 * The names of as many calendars as a tick lists at a time. Each has a schedule of the same name.
 */
const bad = Array.from({ length: 100 }, (_, n) => `bad-${n}`);

async function putCalendars(day: string): Promise<void> {
  for (const name of [...bad, "good"])
    await putCalendar(
      world,
      { name, body: { description: null, rules: rulesWithout(day) }, caller },
      { most: 0, ms: 0 },
    );
}

test("A page of calendars, each with a schedule that cannot be planned, does not stop later calendars", async () => {
  await putCalendars("sat");
  const put = (name: string, timezone: string): Operation => ({
    kind: "put",
    key: name,
    caller,
    body: parseScheduleBody({
      when: "0 9 * * *",
      timezone,
      target: { queue: "demo" },
      calendar: { name, on: "skip" },
    }),
  });
  await applyOperations(world, [...bad.map((name) => put(name, "Asia/Tokyo")), put("good", "UTC")]);
  await planSteps(() => world).zoneOf("Asia/Tokyo", unknownZone);
  await putCalendars("sun");
  await world.tick();
  const left = await world.sql<
    { name: string }[]
  >`select name from carillon.calendars where replan_after is not null`;
  expect(left.map(({ name }) => name).sort()).toEqual(bad.toSorted());
});
