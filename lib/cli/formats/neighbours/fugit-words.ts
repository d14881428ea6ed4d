/** A cron expression of fugit for a text in plain English, or why there is none. */
export type FugitWords = { ok: true; cron: string } | { ok: false; fault: string };

const unread =
  "only plain phrases are read, such as `every 5 minutes`, `every day at 9am` or `every monday at 9:30 Europe/Berlin`: write it as cron";

const zoneBehind = /[ \t]+(?:(?:in|on)[ \t]+)?([A-Z][A-Za-z0-9+-]+(?:\/[A-Z][A-Za-z0-9+_-]+){1,2}|UTC)$/;

/**
 * The phrases whose cron expression is beyond doubt: `every` with a unit, days of the week or days
 * of the month, perhaps `at` some times, perhaps a zone.
 */
export function fugitWords(text: string): FugitWords {
  const [, zone] = zoneBehind.exec(text) ?? [];
  const phrase = partsOf(text.replace(zoneBehind, ""));
  if (phrase === null) return { ok: false, fault: unread };
  const cron = cronOf(phrase);
  if (cron === null) return { ok: false, fault: unread };
  if (cron === "several")
    return {
      ok: false,
      fault: "its times differ in hour and minute, so they are several cron expressions: split it",
    };
  return { ok: true, cron: zone === undefined ? cron : `${cron} ${zone}` };
}

interface Phrase {
  /** Beginning with `every`; null for a time alone. */
  every: string | null;
  /** The times behind `at`; null without one. */
  at: string | null;
}

/** `at` and its times are before or behind the rest, once. */
function partsOf(phrase: string): Phrase | null {
  const [, atFirst, rest] = /^(?:at[ \t]+(.+?)[ \t]+)?(?=every[ \t])(.+)$/i.exec(phrase) ?? [];
  if (rest === undefined) {
    const [, alone] = /^at[ \t]+(.+)$/i.exec(phrase) ?? [];
    return alone === undefined ? null : { every: null, at: alone };
  }
  const [, every, atLast] = /^(.+?)[ \t]+at[ \t]+(.+)$/i.exec(rest) ?? [];
  if (every === undefined || atLast === undefined) return { every: rest, at: atFirst ?? null };
  return atFirst === undefined ? { every, at: atLast } : null;
}

function cronOf({ every, at }: Phrase): string | "several" | null {
  if (every !== null && at === null) {
    const interval = intervalOf(every);
    if (interval !== null) return interval;
  }
  const days = every === null ? "* * *" : daysOf(every);
  const times = timesOf(at ?? "0");
  if (days === null || times === null) return null;
  return times === "several" ? times : `${times} ${days}`;
}

/** Units below a day, which take no `at` here. */
function intervalOf(phrase: string): string | null {
  const [, count = "1", unit] = /^every[ \t]+(?:(\d{1,2})[ \t]+)?(second|minute|hour)s?$/.exec(phrase) ?? [];
  if (unit === undefined || Number(count) < 1) return null;
  const every = Number(count) === 1 ? "*" : `*/${Number(count)}`;
  if (unit === "second") return `${every} * * * * *`;
  return unit === "minute" ? `${every} * * * *` : `0 ${every} * * *`;
}

/** Day of the month, month and day of the week. */
function daysOf(phrase: string): string | null {
  const [, rest = ""] = /^every[ \t]+(.+)$/i.exec(phrase) ?? [];
  const [, count = "1", unit] = /^(?:(\d{1,2})[ \t]+)?(day|month)s?$/.exec(rest) ?? [];
  if (unit !== undefined) {
    const every = Number(count) === 1 ? "*" : `*/${Number(count)}`;
    return unit === "day" ? `${every} * *` : `1 ${every} *`;
  }
  if (/^(?:1[ \t]+)?week$/.test(rest)) return "* * 0";
  if (/^(?:1[ \t]+)?year$/.test(rest)) return "1 1 *";
  if (/^weekday$/i.test(rest)) return "* * 1-5";
  return daysOfMonth(rest) ?? daysOfWeek(rest);
}

function daysOfWeek(rest: string): string | null {
  const [, onWeek] = /^week[ \t]+on[ \t]+(.+)$/.exec(rest) ?? [];
  const weekdays = weekdaysOf(onWeek ?? rest, onWeek === undefined);
  return weekdays === null ? null : `* * ${weekdays}`;
}

function daysOfMonth(rest: string): string | null {
  const [, ordinals] =
    /^month[ \t]+on[ \t]+the[ \t]+(.+)$/.exec(rest) ?? /^(.+?)[ \t]+of the month$/.exec(rest) ?? [];
  const [, numbers] = /^month[ \t]+on[ \t]+days?[ \t]+(.+)$/.exec(rest) ?? [];
  if (ordinals !== undefined) {
    const days = monthDaysOf(ordinals);
    return days === null ? null : `${days} * *`;
  }
  const listed = (numbers ?? "").split(listSign);
  return listed.every((day) => /^([1-9]|[12]\d|3[01])$/.test(day)) ? `${listed.join(",")} * *` : null;
}

const listSign = /[ \t]*,[ \t]*(?:(?:and|or)[ \t]+)?|[ \t]+(?:and|or)[ \t]+/;
const weekdayWords = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

function weekdaysOf(text: string, takesRange: boolean): string | null {
  const [, from, to] = /^([a-z]+)(?:[ \t]*-[ \t]*|[ \t]+(?:to|through)[ \t]+)([a-z]+)$/i.exec(text) ?? [];
  if (from !== undefined && to !== undefined) {
    const [first, last] = [weekdayOf(from), weekdayOf(to)];
    return !takesRange || first === -1 || last === -1 ? null : `${first}-${last}`;
  }
  const days = text.split(listSign).map(weekdayOf);
  return days.includes(-1) ? null : days.join(",");
}

function weekdayOf(text: string): number {
  const word = text.toLowerCase();
  return weekdayWords.findIndex((name) => name === word || name.slice(0, 3) === word);
}

function monthDaysOf(text: string): string | null {
  const days = text.split(listSign).map((word) => {
    if (/^(?:the[ \t]+)?last$/i.test(word)) return "L";
    const [, day] = /^(?:the[ \t]+)?([1-9]|[12]\d|3[01])(?:st|nd|rd|th)$/i.exec(word) ?? [];
    return day ?? null;
  });
  return days.includes(null) ? null : days.join(",");
}

/** Minutes and hours of a list of times; `several` if one cron expression cannot hold them. */
function timesOf(text: string): string | "several" | null {
  const times = text.split(listSign).map(timeOf);
  const known = times.filter((time) => time !== null);
  if (known.length < times.length) return null;
  const minutes = distinct(known.map(({ minute }) => minute));
  const hours = distinct(known.map(({ hour }) => hour));
  if (minutes.length > 1 && hours.length > 1) return "several";
  return `${minutes.join(",")} ${hours.join(",")}`;
}

function distinct(values: number[]): number[] {
  return [...new Set(values)].sort((a, b) => a - b);
}

function timeOf(text: string): { hour: number; minute: number } | null {
  if (/^noon$/i.test(text)) return { hour: 12, minute: 0 };
  if (/^midnight$/i.test(text)) return { hour: 0, minute: 0 };
  const [, hourText, minute = "0", half] = /^(\d\d?)(?::([0-5]\d))?[ \t]*(am|AM|pm|PM)?$/.exec(text) ?? [];
  if (hourText === undefined) return null;
  const hour = Number(hourText);
  if (half === undefined) return hour > 23 ? null : { hour, minute: Number(minute) };
  if (hour < 1 || hour > 12) return null;
  return { hour: (hour % 12) + (/^p/i.test(half) ? 12 : 0), minute: Number(minute) };
}
