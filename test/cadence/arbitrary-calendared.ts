import fc from "fast-check";
import type { Cadence, Calendared } from "../../lib/cadence/cadence.ts";
import { parseWhen } from "../../lib/cadence/parse-when.ts";
import { arbitraryCron } from "./arbitrary-cron.ts";
import { arbitraryRulesAround } from "./arbitrary-rules.ts";

const MINUTE = 60_000;
const DAY = 1_440 * MINUTE;

/** A zone with a day near one of its clock changes: half an hour, two hours, over midnight, a whole day. */
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

function arbitrarySparse(): fc.Arbitrary<string> {
  const minute = fc.constantFrom("0", "1", "30", "0,30", "15-17", "*/20", "59");
  const hour = fc.constantFrom("0", "1", "2", "2", "3", "23", "0-3", "1,2", "*/6", "12", "22-23", "*");
  const days = fc.constantFrom("* * *", "* * *", "* * 0", "* * 6,0", "* * 1-5", "1-7,25-31 * *", "*/3 * *");
  return fc.tuple(minute, hour, days).map((fields) => fields.join(" "));
}

export interface Case {
  cadence: Calendared;
  at: number;
}

/** Around a change of the clocks; the zone of the cadence may be another than the calendar's. */
export function arbitraryCase(on: fc.Arbitrary<Calendared["on"]>): fc.Arbitrary<Case> {
  return fc.constantFrom(...changes).chain(([timezone, date]) => {
    const day = Date.parse(date) / DAY;
    return fc
      .tuple(
        fc.oneof({ weight: 3, arbitrary: arbitrarySparse() }, { weight: 1, arbitrary: arbitraryCron() }),
        arbitraryRulesAround(day),
        fc.integer({ min: (day - 12) * 1440, max: (day + 8) * 1440 }),
        on,
        fc.constantFrom(timezone, timezone, "UTC", "Asia/Tokyo"),
      )
      .map(([expression, rules, minute, how, zone]) => ({
        cadence: { kind: "calendared" as const, of: cron(expression, zone), timezone, on: how, rules },
        at: minute * MINUTE,
      }));
  });
}
