const weekdays: ReadonlyMap<string, number> = new Map(
  ["sun", "mon", "tue", "wed", "thu", "fri", "sat"].map((name, day) => [name, day]),
);

const OF_DAYS = /^(?:every[ \t]+)?(daily|day|weekdays?)[ \t]+(?:at[ \t]+)?(.+)$/i;
const OF_WEEK =
  /^(?:weekly[ \t]+(?:on[ \t]+)?|every[ \t]+|on[ \t]+)?(sun|mon|tues?|wednes|thurs?|fri|satur|wed|sat)(?:days?)?[ \t]+(?:at[ \t]+)?(.+)$/i;
const OF_HOUR = /^(?:every[ \t]+hour|hourly)[ \t]+(?:at[ \t]+)?:([0-5]\d)$/i;
const CLOCK = /^(\d{1,2})(?::([0-5]\d))?[ \t]*(am|pm)?$/i;

/**
 * The cron expression that a phrase of everyday English means, such as `daily at 02:30`; null
 * unless the phrase is plain. It is a hint of a refusal and must mean exactly the same.
 */
export function cronMeant(phrase: string): string | null {
  const [, minuteOfHour] = OF_HOUR.exec(phrase) ?? [];
  if (minuteOfHour !== undefined) return `${Number(minuteOfHour)} * * * *`;
  const [, days, timeOfDays] = OF_DAYS.exec(phrase) ?? [];
  if (days !== undefined) return onDays(timeOfDays, /^week/i.test(days) ? "1-5" : "*");
  const [, weekday = "", timeOfWeek] = OF_WEEK.exec(phrase) ?? [];
  const day = weekdays.get(weekday.slice(0, 3).toLowerCase());
  return day === undefined ? null : onDays(timeOfWeek, String(day));
}

function onDays(time: string | undefined, days: string): string | null {
  const [, hourText, minute = "0", half] = CLOCK.exec(time ?? "") ?? [];
  if (hourText === undefined) return null;
  const hour = hourOf(Number(hourText), half?.toLowerCase());
  return hour === null ? null : `${Number(minute)} ${hour} * * ${days}`;
}

function hourOf(hour: number, half: string | undefined): number | null {
  if (half === undefined) return hour <= 23 ? hour : null;
  if (hour < 1 || hour > 12) return null;
  return (hour % 12) + (half === "pm" ? 12 : 0);
}
