import { BoundedMap } from "../../bounded-map.ts";
import { FURTHEST_MS, INTERVAL_MIN_MS } from "../bounds.ts";
import type { CalendarInterval } from "../cadence.ts";
import type { Cadence } from "../cadence-kinds.ts";
import type { CalendarUnit } from "../calendar-interval.ts";
import { describeCalendarInterval } from "../describe-interval.ts";
import { describeDuration, readDuration } from "../duration.ts";
import { invalid, quoted, type WhenFault } from "../fault.ts";
import { nearestWord } from "../near.ts";
import { normalForm } from "../normal-form.ts";
import { overrideOf, type ParsedWhen, type WhenContext } from "../parsed-when.ts";
import { MS_PER_DAY } from "../zone/civil.ts";
import { zoneNamed } from "../zone/zone-spans.ts";
import { parenthesised } from "./parentheses.ts";
import { cronMeant } from "./spoken.ts";

/** The average length of each unit in days, for the limit of an interval. */
const meanDays: Readonly<Record<CalendarUnit, number>> = { day: 1, week: 7, month: 30.4375, year: 365.25 };

const ONE_UNIT = /^(?:(\d+)[ \t]*)?(day|week|month|year)s?$/i;
const ISO_MONTHS = /^P(?=\d)(?:(\d+)Y)?(?:(\d+)M)?$/i;
const EXACT_UNIT = /^(second|minute|hour)$/i;
const CALENDAR_WORD = /(?<![a-z])(?:days?|weeks?|months?|years?)(?![a-z])/i;

/**
 * `every 5m` is exact; `every 2 weeks`, `every month` and `every P1M` follow the calendar of the
 * zone.
 */
export function parseEvery(text: string, bodyAt: number, context: WhenContext): ParsedWhen | WhenFault {
  const body = text.slice(bodyAt);
  const [whole, countText = "1", unitText = ""] = ONE_UNIT.exec(body) ?? [];
  if (whole !== undefined) {
    const unit = unitNamed(unitText);
    return calendarInterval({ every: Number(countText), unit }, bodyAt, context);
  }
  const [iso, years = "0", months = "0"] = ISO_MONTHS.exec(body) ?? [];
  if (iso !== undefined) {
    return calendarInterval({ every: Number(years) * 12 + Number(months), unit: "month" }, bodyAt, context);
  }
  const [exact] = EXACT_UNIT.exec(body) ?? [];
  if (exact !== undefined) return interval(`1 ${exact.toLowerCase()}`, 0, context);
  return faultOfMixture(body, bodyAt) ?? interval(text, bodyAt, context);
}

function unitNamed(text: string): CalendarUnit {
  const unit = units.find((known) => known === text.toLowerCase());
  if (unit === undefined) throw new Error(`${text} is no unit of the calendar.`);
  return unit;
}

const units: readonly CalendarUnit[] = ["day", "week", "month", "year"];

/** The fault of a text that has a calendar unit with other text beside it, or no number at all. */
function faultOfMixture(body: string, bodyAt: number): WhenFault | null {
  const cron = cronMeant(`every ${body}`);
  if (cron !== null) {
    return invalid(bodyAt, `Times of day are written as cron; did you mean ${cron}?`);
  }
  const calendar = CALENDAR_WORD.exec(body);
  if (calendar !== null) {
    return invalid(
      bodyAt + calendar.index,
      "Days, weeks, months and years follow the calendar and stand alone, as in every 2 weeks; exact intervals are written every 36h or every 7d, times of day as cron (0 9 * * *).",
    );
  }
  if (/^P[^T]*[YM]/i.test(body)) {
    return invalid(bodyAt, "Years and months follow the calendar and stand alone, as in every P1M.");
  }
  const [word = ""] = /^[A-Za-z]+/.exec(body) ?? [];
  if (word === "" || /^P/i.test(word)) return null;
  const meant = nearestWord(word, everyWords);
  const hint = meant === null ? "." : `; did you mean ${meant}?`;
  return invalid(
    bodyAt,
    `${quoted(word)} is not understood${hint} every takes an interval, as in every 5m or every 2 weeks; days of the week are for cron (0 9 * * mon).`,
  );
}

const everyWords = ["second", "minute", "hour", "day", "week", "month", "year"];

/**
 * One name for equal intervals: 14 days are two weeks and 12 months are a year, from any anchor.
 */
function inLargestUnit(every: number, unit: CalendarUnit): Pick<CalendarInterval, "every" | "unit"> {
  if (unit === "day" && every % 7 === 0) return { every: every / 7, unit: "week" };
  if (unit === "month" && every % 12 === 0) return { every: every / 12, unit: "year" };
  return { every, unit };
}

function calendarInterval(
  { every, unit }: Pick<CalendarInterval, "every" | "unit">,
  position: number,
  context: WhenContext,
): ParsedWhen | WhenFault {
  const { timezone, now, startsAt } = context;
  if (every < 1) return invalid(position, `An interval is at least one ${unit}.`);
  if (every * meanDays[unit] * MS_PER_DAY > FURTHEST_MS) {
    return invalid(position, "An interval can be at most 100 years.");
  }
  const begin = startsAt ?? now;
  const cadence: CalendarInterval = {
    kind: "calendar-interval",
    ...inLargestUnit(every, unit),
    anchor: begin + zoneNamed(timezone).spanAt(begin).offset,
    from: startsAt == null ? 1 : 0,
    timezone,
    ...overrideOf(context),
  };
  const normal = normalForm(cadence);
  const description = `${describeCalendarInterval(cadence)}, ${timezone}`;
  return { ok: true, cadence, relative: false, normal, description, warnings: [] };
}

/** `rate(1 day)` is 24 hours, as on AWS. */
export function parseRate(text: string, openAt: number, context: WhenContext): ParsedWhen | WhenFault {
  const rate = parenthesised(text, openAt);
  return rate.ok ? interval(rate.inner, openAt + 1, context) : rate;
}

function interval(text: string, bodyAt: number, { now, startsAt }: WhenContext): ParsedWhen | WhenFault {
  const read = readInterval(text, bodyAt);
  if (!read.ok) return read;
  const { everyMs, normal, description } = read;
  const cadence: Cadence = { kind: "interval", everyMs, firstAt: startsAt ?? now + everyMs };
  return { ok: true, cadence, relative: false, normal, description, warnings: [] };
}

interface ReadInterval {
  ok: true;
  everyMs: number;
  normal: string;
  description: string;
}

/** Reads an interval once, as for crons: millions of schedules share a few. */
function readInterval(text: string, bodyAt: number): ReadInterval | WhenFault {
  const body = text.slice(bodyAt);
  const known = readByText.get(body);
  if (known !== undefined) return known;
  const duration = readDuration(text, bodyAt);
  if (!duration.ok) return duration;
  const { ms: everyMs } = duration;
  if (everyMs < INTERVAL_MIN_MS) return invalid(bodyAt, "An interval is at least one second.");
  const read: ReadInterval = {
    ok: true,
    everyMs,
    normal: normalForm({ kind: "interval", everyMs, firstAt: 0 }),
    description: `every ${describeDuration(everyMs).replace(/^1 (\w+)$/, "$1")}`,
  };
  readByText.set(body, read);
  return read;
}

const readByText = new BoundedMap<string, ReadInterval>(1_000);
