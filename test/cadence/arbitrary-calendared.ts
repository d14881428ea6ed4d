import fc from "fast-check";
import type { Cadence, Calendared } from "../../lib/cadence/cadence-kinds.ts";
import { parseWhen } from "../../lib/cadence/when/parse-when.ts";
import { arbitraryCron } from "./arbitrary-cron.ts";
import { arbitraryRulesAround } from "./arbitrary-rules.ts";

const MINUTE = 60_000;
const DAY = 1_440 * MINUTE;

/**
 * Zones, each with a day near one of its clock changes: by half an hour, by two hours, over
 * midnight, by a whole day.
 */
const changes = [
  ["Europe/Berlin", "2026-03-29"],
  ["Europe/Berlin", "2026-10-25"],
  ["America/New_York", "2027-03-14"],
  ["America/New_York", "2026-11-01"],
  ["Australia/Lord_Howe", "2026-10-04"],
  ["Australia/Lord_Howe", "2027-04-04"],
  ["Antarctica/Troll", "2026-03-29"],
  ["Antarctica/Troll", "2026-10-25"],
  ["America/Santiago", "2026-09-06"],
  ["America/Santiago", "2026-04-05"],
  ["America/St_Johns", "2010-11-07"],
  ["America/St_Johns", "2011-03-13"],
  ["America/Scoresbysund", "2025-03-30"],
  ["America/Scoresbysund", "2025-10-26"],
  ["Africa/Cairo", "2026-10-30"],
  ["Asia/Tehran", "2022-03-22"],
  ["Pacific/Apia", "2011-12-30"],
  ["Pacific/Chatham", "2026-09-27"],
  ["Asia/Kathmandu", "2026-07-01"],
  ["UTC", "2028-02-29"],
] as const;

export function cron(expression: string, timezone: string): Cadence {
  const parsed = parseWhen(expression, { timezone, now: 0, key: "a" });
  if (!parsed.ok) throw new Error(`${expression}: ${parsed.message}`);
  return parsed.cadence;
}

export function calendared(
  of: Cadence,
  on: Calendared["on"],
  rules: Calendared["rules"],
  timezone = "UTC",
): Calendared {
  return { kind: "calendared", of, timezone, on, rules };
}

/** Mostly near one of the changes above, otherwise in any zone and at any time. */
function arbitraryPlace(): fc.Arbitrary<{ timezone: string; day: number }> {
  const day = fc.integer({ min: Date.UTC(2010, 0, 1) / DAY, max: Date.UTC(2039, 11, 31) / DAY });
  const anywhere = fc.record({ timezone: fc.constantFrom(...Intl.supportedValuesOf("timeZone")), day });
  const near = fc
    .constantFrom(...changes)
    .map(([timezone, date]) => ({ timezone: timezone as string, day: Date.parse(date) / DAY }));
  return fc.oneof({ weight: 3, arbitrary: near }, { weight: 1, arbitrary: anywhere });
}

function arbitrarySparse(): fc.Arbitrary<string> {
  const minute = fc.constantFrom("0", "1", "30", "0,30", "15-17", "*/20", "59");
  const hour = fc.constantFrom("0", "1", "2", "2", "3", "23", "0-3", "1,2", "*/6", "12", "22-23", "*");
  const days = fc.constantFrom("* * *", "* * *", "* * 0", "* * 6,0", "* * 1-5", "1-7,25-31 * *", "*/3 * *");
  return fc.tuple(minute, hour, days).map((fields) => fields.join(" "));
}

/**
 * Cadences of every kind that a calendar can move, with few occurrences a day or fewer, some of
 * them at clock changes.
 */
function arbitraryInner(timezone: string, day: number): fc.Arbitrary<Cadence> {
  const time = fc.constantFrom(0, 30, 120, 150, 540, 1_410).map((minutes) => day * DAY + minutes * MINUTE);
  const daysAway = fc.integer({ min: -50, max: 20 });
  const interval = fc.tuple(time, daysAway, fc.constantFrom(47, 360, 1_440, 4_321)).map(
    ([at, days, minutes]): Cadence => ({
      kind: "interval",
      everyMs: minutes * MINUTE,
      firstAt: at + days * DAY,
    }),
  );
  const byCalendar = fc.tuple(time, daysAway, fc.constantFrom("day", "week", "month")).map(
    ([at, days, unit]): Cadence => ({
      kind: "calendar-interval",
      every: 1,
      unit,
      anchor: at + days * DAY,
      from: 0,
      timezone,
    }),
  );
  const once = fc.tuple(time, daysAway).map(([at, days]): Cadence => ({ kind: "once", at: at + days * DAY }));
  const two = fc
    .tuple(byCalendar, arbitrarySparse())
    .map(([first, second]): Cadence => ({ kind: "union", of: [first, cron(second, timezone)] }));
  return fc.oneof(
    { weight: 4, arbitrary: arbitrarySparse().map((expression) => cron(expression, timezone)) },
    { weight: 2, arbitrary: arbitraryCron().map((expression) => cron(expression, timezone)) },
    { weight: 2, arbitrary: fc.oneof(interval, byCalendar, once, two) },
  );
}

export interface Case {
  cadence: Calendared;
  at: number;
}

/** The zone of the cadence may differ from that of the calendar. */
export function arbitraryCase(on: fc.Arbitrary<Calendared["on"]>): fc.Arbitrary<Case> {
  return fc
    .tuple(arbitraryPlace(), fc.constantFrom(null, null, "UTC", "Asia/Tokyo"))
    .chain(([{ timezone, day }, other]) =>
      fc.tuple(
        fc.constant(timezone),
        arbitraryInner(other ?? timezone, day),
        arbitraryRulesAround(day),
        fc.integer({ min: (day - 12) * 1_440, max: (day + 8) * 1_440 }),
        on,
      ),
    )
    .map(([timezone, of, rules, minute, how]) => ({
      cadence: { kind: "calendared" as const, of, timezone, on: how, rules },
      at: minute * MINUTE,
    }));
}
