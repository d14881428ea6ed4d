import { afterEach, beforeEach, expect, test } from "vitest";
import { applyOperations } from "../../lib/batch/apply-operations.ts";
import type { Operation } from "../../lib/batch/operation.ts";
import { readCalendarRules } from "../../lib/cadence/calendar-rules.ts";
import { putCalendar } from "../../lib/rules/calendar-edits.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { type Counting, countStatements } from "./counted-statements.ts";

let world: Carillon;
let counting: Counting;

beforeEach(async () => {
  world = await carillon();
  counting = countStatements(world.databaseUrl);
  const read = readCalendarRules({ dates: ["02-01..04-30"] });
  if (!read.ok) throw new Error("The calendar rules could not be read.");
  const body = { description: null, rules: read.rules };
  await putCalendar({ sql: world.sql, queue: world.queue }, { name: "spring", body, caller });
});

afterEach(async () => {
  await counting.sql.end();
  await world.stop();
});

const caller = { name: "ann" };
const put = (key: string, when: string, calendar: string | null): Operation => ({
  kind: "put",
  key,
  caller,
  body: parseScheduleBody({
    when,
    target: { queue: "demo" },
    ...(calendar === null ? {} : { calendar: { name: calendar, on: "next" } }),
  }),
});
const apply = async (operations: readonly Operation[]) =>
  (await applyOperations({ sql: counting.sql, queue: world.queue }, operations)).map(({ change }) => change);
const beforeBegin = () => {
  const sent = counting.taken();
  return sent.slice(
    0,
    sent.findIndex((text) => text.startsWith("begin")),
  );
};

test("a batch reads the calendars that its puts name in one statement before its transaction, and has the same results", async () => {
  const changes = await apply([
    put("never", "0 9 28 2 *", "spring"),
    put("runs", "0 9 1 6 *", "spring"),
    put("beside", "0 9 * * *", null),
    put("without", "0 9 * * *", "missing"),
  ]);
  expect(changes).toEqual(["refused", "created", "created", "refused"]);
  const ahead = beforeBegin();
  expect(ahead).toHaveLength(1);
  expect(ahead[0]).toContain("carillon.calendars");
});

test("a batch without calendars reads nothing before its transaction", async () => {
  await apply([put("a", "0 9 * * *", null), put("b", "every 1h", null)]);
  expect(beforeBegin()).toEqual([]);
});
