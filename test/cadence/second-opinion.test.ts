import { CronExpressionParser } from "cron-parser";
import fc from "fast-check";
import { expect, test } from "vitest";
import { readCronFields } from "../../lib/cadence/cron/cron-fields.ts";
import { arbitraryCron, arbitrarySecondCron } from "./arbitrary-cron.ts";

/**
 * The fields as cron-parser reads them: Sunday is both 0 and 7 there. Null for expressions that it
 * refuses: lists that name a value twice.
 */
function readByCronParser(expression: string): Read | null {
  const fields = fieldsOf(expression);
  if (fields === null) return null;
  const { second, minute, hour, dayOfMonth, month, dayOfWeek } = fields;
  return {
    seconds: second.values.map(Number),
    minutes: minute.values.map(Number),
    hours: hour.values.map(Number),
    days: dayOfMonth.values.map(Number),
    months: month.values.map(Number),
    weekdays: [...new Set(dayOfWeek.values.map((day) => Number(day) % 7))].sort((a, b) => a - b),
  };
}

function fieldsOf(expression: string) {
  try {
    return CronExpressionParser.parse(expression).fields;
  } catch (error) {
    if (error instanceof Error && error.message.includes("duplicate values")) return null;
    throw error;
  }
}

function readByUs(expression: string) {
  const fields = readCronFields(expression, 0);
  if (!fields.ok) throw new Error(`${expression}: ${fields.message}`);
  const { seconds, minutes, hours, days, months, weekdays } = fields;
  return {
    seconds,
    minutes,
    hours,
    days: days?.values ?? range(1, 31),
    months,
    weekdays: weekdays?.values ?? range(0, 6),
  };
}

type Read = ReturnType<typeof readByUs>;

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

test("each field of a cron has the values that the package cron-parser reads, with five fields and with six", () => {
  fc.assert(
    fc.property(fc.oneof(arbitraryCron(), arbitrarySecondCron()), (expression) => {
      const theirs = readByCronParser(expression);
      const [day, month, weekday] = expression.split(" ").slice(-3);
      // `2/2` in day-of-week runs to Saturday here; cron-parser continues to 7 and so adds Sunday.
      if (theirs === null) return;
      fc.pre(!/(^|,)\d\/\d+/.test(weekday ?? ""));
      // Cron-parser leaves out days that the named months lack. With both day fields restricted,
      // ours are merged.
      const alone = { day: month === "*" && weekday === "*", weekday: day === "*" };
      const comparable = ({ days, weekdays, ...times }: Read) => ({
        ...times,
        days: alone.day ? days : null,
        weekdays: alone.weekday ? weekdays : null,
      });
      expect(comparable(readByUs(expression))).toEqual(comparable(theirs));
    }),
    { numRuns: 2_000 },
  );
});

test.for(["0 0 * * 6-7", "0 0 * * sun,MON", "*/7 3-9/2 1,15 jan-mar,12 5", "5/15 * * * *", "0 0 * * 7"])(
  "cron-parser reads %s as Carillon does",
  (expression) => {
    expect(readByUs(expression)).toEqual(readByCronParser(expression));
  },
);
