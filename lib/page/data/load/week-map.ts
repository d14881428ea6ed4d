import type { Forecast } from "../../../client/forecast.ts";
import { dateAfter, midnightOf } from "../time/wall-input.ts";
import { dateText, dayText, minuteText } from "../time/zone.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/** Zones differ from UTC by whole quarters of an hour, so a quarter never spans two hours. */
const quarterMs = 15 * minuteMs;
const daysShown = 7;
/** The most minutes of one forecast. */
const askedMax = 1_440;

/** One question to the API: at most a day. */
export interface Ask {
  begin: number;
  minutes: number;
  /** Its first minute is that of the server's clock. */
  isNow: boolean;
}

export interface WeekHour {
  hour: number;
  /** Passed hours of today, and the hour that a clock change leaves out, have no time. */
  state: "ahead" | "passed" | "missing";
  from: number;
  to: number;
  /** A clock change repeats it. */
  isTwice: boolean;
}

export interface WeekDay {
  date: string;
  label: string;
  hours: WeekHour[];
  asks: Ask[];
}

/** The rest of a zone's day and its next six days, by the hours of its clock. */
export function weekOf(from: number, zone: string): WeekDay[] {
  const today = dateText(from, zone);
  return Array.from({ length: daysShown }, (_, place) => {
    const date = dateAfter(today, place);
    const midnight = midnightOf(date, zone);
    const begin = Math.max(from, midnight);
    const end = midnightOf(dateAfter(date, 1), zone);
    return {
      date,
      label: dayText(begin, zone),
      hours: hoursOf({ midnight, begin, end, zone }),
      asks: asksOf({ begin, end, isToday: place === 0 }),
    };
  });
}

interface Span {
  begin: number;
  end: number;
}

function hoursOf({ midnight, begin, end, zone }: Span & { midnight: number; zone: string }): WeekHour[] {
  const length = (end - midnight) / quarterMs;
  const quarters = Array.from({ length }, (_, place) => midnight + place * quarterMs);
  const byHour = Map.groupBy(quarters, (at) => hourAt(at, zone));
  return Array.from({ length: 24 }, (_, hour) => {
    const own = byHour.get(hour) ?? [];
    const [from, ...later] = own.filter((at) => at >= begin);
    if (from === undefined)
      return { hour, state: own.length === 0 ? "missing" : "passed", from: 0, to: 0, isTwice: false };
    const to = (later.at(-1) ?? from) + quarterMs;
    return { hour, state: "ahead", from, to, isTwice: own.length > 4 };
  });
}

export interface ForecastHour extends WeekHour {
  /** Its first minutes have passed: the forecast has the rest of it. */
  isBegun: boolean;
}

/** The hours as a forecast has them whose first minute is known: what is before it has passed. */
export function hoursFrom(hours: readonly WeekHour[], first: number | undefined): ForecastHour[] {
  return hours.map((hour) => {
    if (hour.state !== "ahead" || first === undefined) return { ...hour, isBegun: false };
    if (hour.to <= first) return { ...hour, state: "passed", isBegun: false };
    const from = Math.max(hour.from, first);
    return { ...hour, from, isBegun: hour.to - from < hourMs };
  });
}

const hourAt = (at: number, zone: string) => Number(minuteText(at, zone).slice(0, 2));

/** A day of 25 hours takes two questions. */
function asksOf({ begin, end, isToday }: Span & { isToday: boolean }): Ask[] {
  const asks: Ask[] = [];
  for (let at = begin; at < end; at += askedMax * minuteMs)
    asks.push({
      begin: at,
      minutes: Math.min(askedMax, (end - at) / minuteMs),
      isNow: isToday && at === begin,
    });
  return asks;
}

/** The sum of each hour of a day, from the answers that have arrived. */
export function hourSums(
  { hours, asks }: WeekDay,
  answers: readonly (Pick<Forecast, "minutes"> | undefined)[],
): (number | null)[] {
  const sums: (number | null)[] = hours.map(() => null);
  for (const [place, { begin, minutes: asked }] of asks.entries())
    for (const { at: text, fires } of answers[place]?.minutes ?? []) {
      const at = Date.parse(text);
      // The server's clock may be ahead, and its first minutes then reach beyond the day.
      if (at < begin || at >= begin + asked * minuteMs) continue;
      const hour = hours.findIndex(({ state, from, to }) => state === "ahead" && at >= from && at < to);
      if (hour !== -1) sums[hour] = (sums[hour] ?? 0) + fires;
    }
  return sums;
}
