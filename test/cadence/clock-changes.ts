import fc from "fast-check";
import { canonicalTimezone } from "../../lib/cadence/zone/timezone.ts";
import { offsetChanges } from "../../lib/cadence/zone/zone-spans.ts";
import { wallClock } from "./minute-scan.ts";

const DAY = 86_400_000;

/**
 * Zones with every kind of clock change: by half an hour, two hours or a whole day, at midnight, at
 * one minute past, in Ramadan.
 */
export const zones = [
  "Africa/Cairo",
  "Africa/Casablanca",
  "America/Caracas",
  "America/Havana",
  "America/New_York",
  "America/Santiago",
  "America/Sao_Paulo",
  "America/St_Johns",
  "Antarctica/Casey",
  "Antarctica/Troll",
  "Asia/Gaza",
  "Asia/Kathmandu",
  "Asia/Pyongyang",
  "Asia/Tehran",
  "Australia/Lord_Howe",
  "Europe/Berlin",
  "Europe/Dublin",
  "Europe/Istanbul",
  "Pacific/Apia",
  "Pacific/Chatham",
];

const changes = zones.flatMap((timezone) => daysOfChange(timezone).map((day) => ({ timezone, day })));

function daysOfChange(timezone: string): number[] {
  const wallAt = wallClock(timezone);
  const days: number[] = [];
  for (let day = Date.UTC(2010, 0, 1); day < Date.UTC(2040, 0, 1); day += DAY) {
    if (wallAt(day + DAY) - wallAt(day) !== DAY) days.push(day);
  }
  return days;
}

/** An instant within a day and a half of a change of the clocks. */
export function arbitraryNearChange(): fc.Arbitrary<{ timezone: string; at: number }> {
  return fc
    .tuple(fc.constantFrom(...changes), fc.integer({ min: -36 * 60, max: 36 * 60 }))
    .map(([{ timezone, day }, minutes]) => ({ timezone, at: day + minutes * 60_000 }));
}

const everyZone = Intl.supportedValuesOf("timeZone").flatMap((name) => canonicalTimezone(name) ?? []);

/**
 * As `arbitraryNearChange`, in any zone. The code under test finds the changes here, but only to
 * choose the instants; the oracles check the results.
 */
export function arbitraryNearAnyChange(): fc.Arbitrary<{ timezone: string; at: number }> {
  const decade = fc.integer({ min: 2010, max: 2035 }).map((year) => Date.UTC(year, 0, 1));
  return fc
    .tuple(fc.constantFrom(...everyZone), decade, fc.nat(99), fc.integer({ min: -36 * 60, max: 36 * 60 }))
    .map(([timezone, from, nth, minutes]) => {
      const found = offsetChanges(timezone, from, from + 5 * 366 * DAY);
      const change = found[nth % found.length]?.from ?? from;
      return { timezone, at: change + minutes * 60_000 };
    });
}

/** Expressions with occurrences in the hours when clocks change. */
export function arbitraryNightly(): fc.Arbitrary<string> {
  const minute = fc.constantFrom("0", "1", "15", "30", "0,30", "29-31", "*/15", "*", "59", "5/20");
  const hour = fc.constantFrom("0", "1", "2", "3", "23", "0-3", "1,2", "*", "*/2", "2/1", "12", "22-23");
  const days = fc.constantFrom("* * *", "* * 0", "* * 6,0", "1-7,25-31 * *", "1 * 0", "* 3,4,9-11 *");
  return fc.tuple(minute, hour, days).map((fields) => fields.join(" "));
}
