import { isExcluded, readCalendarRules, weekdays } from "../../../cadence/calendar-rules.ts";
import { daysFromCivil } from "../../../cadence/zone/civil.ts";
import type { Calendar, CalendarBody, Weekday } from "../../../client/calendars.ts";

/** The rules of a calendar as they are edited. */
export interface Rules {
  dates: string[];
  weekly: Weekday[];
  except: string[];
  description: string;
}

export const emptyRules: Rules = { dates: [], weekly: [], except: [], description: "" };

export const rulesOf = ({ dates, weekly, except, description }: Calendar): Rules => ({
  dates,
  weekly,
  except,
  description: description ?? "",
});

export const bodyOf = ({ description, ...rules }: Rules): CalendarBody => ({
  ...rules,
  description: description === "" ? null : description,
});

/**
 * Whether a day is free, by the server's own reading of the rules without the entries that have a fault; null
 * if the others have one together.
 */
export function dayTest({ dates, weekly, except }: Rules): ((date: string) => boolean) | null {
  const read = readCalendarRules({ dates: dates.filter(isEntry), weekly, except: except.filter(isEntry) });
  if (!read.ok) return null;
  return (date) => {
    const [year = 0, month = 1, day = 1] = date.split("-").map(Number);
    return isExcluded(read.rules, daysFromCivil(year, month, day));
  };
}

const isEntry = (entry: string): boolean => readCalendarRules({ dates: [entry] }).ok;

/** A day becomes free or a working day, by the smallest change of the rules. */
export function withDay(rules: Rules, date: string): Rules {
  const isOff = dayTest(rules)?.(date) === true;
  const without = (list: readonly string[]) => list.filter((entry) => entry !== date);
  if (isOff) {
    const left = { ...rules, dates: without(rules.dates) };
    return dayTest(left)?.(date) === true ? { ...left, except: [...left.except, date].sort() } : left;
  }
  const left = { ...rules, except: without(rules.except) };
  return dayTest(left)?.(date) === true ? left : { ...left, dates: [...left.dates, date].sort() };
}

export const allWeekdays: readonly Weekday[] = weekdays;
