import fc from "fast-check";
import { type CalendarRules, readCalendarRules, weekdays } from "../../lib/cadence/calendar-rules.ts";

const DAY = 86_400_000;

export const dateOf = (day: number) => new Date(day * DAY).toISOString().slice(0, 10);

export function rulesOf(input: Partial<CalendarRules>): CalendarRules {
  const read = readCalendarRules(input);
  if (!read.ok) throw new Error(JSON.stringify(read.faults));
  return read.rules;
}

/**
 * The meaning of rules, implemented with texts and Dates: slow, simple, and independent of
 * lib/cadence.
 */
export function excludesDay(rules: CalendarRules, day: number): boolean {
  const date = dateOf(day);
  const named = (entry: string) => {
    const [from = "", to = from] = entry.split("..");
    if (from.length === 10) return from <= date && date <= to;
    const ofYear = date.slice(5);
    return from <= to ? from <= ofYear && ofYear <= to : from <= ofYear || ofYear <= to;
  };
  if (rules.except?.some(named)) return false;
  const name = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"][new Date(day * DAY).getUTCDay()];
  return rules.weekly.some((each) => each === name) || rules.dates.some(named);
}

/**
 * Rules that affect the weeks around a day: weekends, holidays, bridge days, exclusions of months.
 */
export function arbitraryRulesAround(day: number): fc.Arbitrary<CalendarRules> {
  const near = fc.integer({ min: day - 40, max: day + 40 });
  const length = fc.oneof(
    { weight: 4, arbitrary: fc.integer({ min: 0, max: 4 }) },
    { weight: 1, arbitrary: fc.integer({ min: 5, max: 70 }) },
  );
  const entry = fc.tuple(near, length, fc.boolean()).map(([from, days, yearly]) => {
    const start = yearly ? 5 : 0;
    const first = dateOf(from).slice(start);
    return days === 0 ? first : `${first}..${dateOf(from + days).slice(start)}`;
  });
  return fc
    .record({
      dates: fc.array(entry, { maxLength: 4 }),
      weekly: fc.oneof(
        fc.constant([]),
        fc.constant(["sat", "sun"]),
        fc.subarray([...weekdays], { maxLength: 6 }),
      ),
      except: fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, fc.array(entry, { maxLength: 2 })),
    })
    .map((input) => readCalendarRules(input))
    .filter((read) => read.ok)
    .map(({ rules }) => rules);
}
