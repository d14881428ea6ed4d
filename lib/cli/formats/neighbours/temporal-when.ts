import type { JsonObject } from "../found.ts";
import { joined, type Parts } from "../parts.ts";
import { clockPart, zonePart } from "./common-parts.ts";
import { goSeconds } from "./go-duration.ts";
import { structuredWhen, temporalCron, writtenWhen } from "./temporal-calendar.ts";
import type { TemporalSpec } from "./temporal-shapes.ts";

interface Interval {
  interval: number;
  phase: number;
}

interface Times {
  whens: string[];
  intervals: Interval[];
  zones: string[];
  faults: string[];
}

/** The fields of the times of a schedule: its calendars, its intervals, its zone and its window. */
export function temporalTimes(spec: TemporalSpec): Parts {
  const { whens, intervals, zones, faults } = timesOf(spec);
  const named = spec.timezoneName === "" ? zones : [spec.timezoneName, ...zones];
  const zoned = zonePart(named[0] ?? "UTC", undefined, "");
  const all = [...whens, ...intervals.map(({ interval }) => `every ${interval}s`)];
  const [alone] = all;
  return joined(
    { body: { when: all.length === 1 && alone !== undefined ? alone : all } },
    zoned,
    clockPart(whens, zoned.body, { of: "Temporal", gap: "skip", overlap: "both" }),
    windowPart(spec, intervals, whens.length > 0),
    jitterPart(spec.jitter),
    {
      faults: [
        ...faults,
        ...(all.length === 0 && faults.length === 0
          ? ["it has no times, and runs only when it is triggered"]
          : []),
        ...(new Set(named).size > 1 ? [`it names several zones: ${named.join(", ")}`] : []),
        ...impossibleIn(spec),
      ],
    },
  );
}

function impossibleIn(spec: TemporalSpec): string[] {
  const isExcluding = spec.excludeStructuredCalendar.length + spec.excludeCalendar.length > 0;
  return [
    ...(isExcluding
      ? ["it leaves out times (exclude…): write the times that remain, or give it a calendar of days off"]
      : []),
    ...(spec.timezoneData === ""
      ? []
      : ["it has a zone of its own (timezoneData); Carillon knows IANA names"]),
  ];
}

function timesOf(spec: TemporalSpec): Times {
  const times: Times = { whens: [], intervals: [...spec.interval], zones: [], faults: [] };
  for (const calendar of [...spec.structuredCalendar.map(structuredWhen), ...spec.calendar.map(writtenWhen)])
    addCalendar(times, calendar);
  for (const text of spec.cronString) {
    const [, zone, rest = text] = /^\s*(?:CRON_)?TZ=(\S+)\s+(.*)$/s.exec(text) ?? [];
    if (zone !== undefined) times.zones.push(zone);
    const cron = rest.replace(/#.*$/s, "").trim();
    const [, every, phase] = /^@every\s+([^/\s]+)(?:\/(\S+))?$/.exec(cron) ?? [];
    if (every === undefined) {
      addCalendar(times, temporalCron(cron));
      continue;
    }
    const interval = goSeconds(every);
    const after = phase === undefined ? 0 : goSeconds(phase);
    if (interval === null || after === null)
      times.faults.push(`its interval ${JSON.stringify(cron)} is not understood`);
    else times.intervals.push({ interval, phase: after });
  }
  // Temporal cuts intervals and phases down to whole seconds.
  times.intervals = times.intervals.map(({ interval, phase }) => ({
    interval: Math.floor(interval),
    phase: Math.floor(phase),
  }));
  return times;
}

function addCalendar(times: Times, calendar: ReturnType<typeof structuredWhen>): void {
  if (calendar.ok) times.whens.push(calendar.when);
  else times.faults.push(calendar.fault);
}

/**
 * `startsAt` and `endsAt`. Temporal counts intervals from 1970 and Carillon from `startsAt`, so that
 * is moved to an instant of the interval.
 */
function windowPart(
  spec: TemporalSpec,
  intervals: readonly Interval[],
  hasCalendars: boolean,
): Partial<Parts> {
  const { startTime, endTime } = spec;
  // The end is within the window of Temporal, and outside that of Carillon.
  const endsAt: JsonObject =
    endTime == null ? {} : { endsAt: new Date(Date.parse(endTime) + 1).toISOString() };
  const start = startTime == null ? null : Date.parse(startTime) / 1_000;
  if (intervals.length === 0) return { body: { ...(start === null ? {} : startsAt(start)), ...endsAt } };
  const anchor = start === null ? commonInstant(intervals) : commonFirst(intervals, start);
  if (anchor === null || (hasCalendars && start !== null && anchor !== start))
    return {
      faults: [
        "its intervals and its start do not share an instant to count from: give each interval a schedule",
      ],
    };
  return {
    body: { ...startsAt(anchor), ...endsAt },
    differences: [
      "`startsAt` is an instant from which its interval counts as in Temporal (from 1970, plus its phase)",
    ],
  };
}

function startsAt(seconds: number): JsonObject {
  return { startsAt: new Date(seconds * 1_000).toISOString() };
}

/** The first instant of every interval from `start` on, if it is the same; otherwise null. */
function commonFirst(intervals: readonly Interval[], start: number): number | null {
  const firsts = intervals.map(({ interval, phase }) => start + rest(phase - start, interval));
  const [first = start] = firsts;
  return firsts.every((each) => each === first) ? first : null;
}

const stepsMax = 100_000;

/** An early instant that all intervals have; null if there is none within some steps. */
function commonInstant(intervals: readonly Interval[]): number | null {
  const [first, ...others] = intervals;
  if (first === undefined || first.interval < 1) return null;
  for (let step = 0, at = first.phase; step < stepsMax; step += 1, at += first.interval)
    if (others.every(({ interval, phase }) => rest(at - phase, interval) === 0)) return at;
  return null;
}

/** The remainder from 0 on, also of a negative number. */
function rest(of: number, by: number): number {
  return ((of % by) + by) % by;
}

const daySeconds = 86_400;

function jitterPart(jitter: number): Partial<Parts> {
  const seconds = Math.ceil(Math.min(jitter, daySeconds));
  if (seconds === 0) return {};
  return {
    body: { spread: `${seconds}s` },
    differences: [
      "jitter: Temporal draws a delay for each time; `spread` uses a fixed delay derived from the key",
      ...(jitter > daySeconds ? [`the spread is at most 24 hours, not ${jitter} s`] : []),
    ],
  };
}
