import { normalForm } from "../cadence/normal-form.ts";
import type { Tx } from "../db/connect.ts";
import { databaseClock } from "../db/database-clock.ts";
import { findCalendar } from "../schedule/calendars.ts";
import { resolveSpec, wordsOf } from "../schedule/resolve-spec.ts";
import type { ScheduleBody } from "../schedule/shape/schedule-body.ts";
import { firstOf, timetableOf } from "../schedule/stored/timetable.ts";
import { type ComingOccurrence, comingAfter } from "./next-occurrences.ts";

export interface PreviewParams {
  /** What is spread by key takes its place from it. */
  key?: string | undefined;
  body: ScheduleBody;
  /** Whether its target was given: one that was made up, since times need none, is nobody's to allow. */
  targeted: boolean;
  n: number;
  from?: number | undefined;
}

export interface Preview {
  timezone: string;
  cadence: string;
  cadenceText: string;
  warnings: string[];
  occurrences: Omit<ComingOccurrence, "held">[];
}

/** What a body would come to if it were saved now: refused as saving it would be, and nothing is stored. */
export async function previewSchedule(
  tx: Tx,
  { key = "", body, n, from }: Omit<PreviewParams, "targeted">,
): Promise<Preview> {
  const now = await databaseClock(tx);
  const { cadence } = await resolveSpec((name) => findCalendar(tx, name), key, body, now);
  const { cadenceText, warnings } = wordsOf({ key, body, cadence, createdAt: now }, now);
  const timetable = timetableOf({ key, cadence, body, fires: 0 });
  const begin = Math.min(firstOf(cadence, now.getTime()) ?? Number.POSITIVE_INFINITY, now.getTime() + 1) - 1;
  return {
    timezone: body.timezone,
    cadence: normalForm(cadence),
    cadenceText,
    warnings: key === "" && isSpreadByKey(body) ? [...warnings, keyless] : warnings,
    occurrences: comingAfter(timetable, {
      timezone: body.timezone,
      after: timetable.firesLeft === null ? (from ?? begin) : Math.max(from ?? begin, begin),
      n,
      countFrom: begin,
      left: timetable.firesLeft,
    }),
  };
}

const keyless =
  "Its times are spread by the schedule's key: without the `key` they differ from what will run.";

/** `H` stands in cron expressions alone. */
function isSpreadByKey({ when, spread }: ScheduleBody): boolean {
  const whens = typeof when === "string" ? [when] : when;
  const hashed = whens.some((text) => /^\s*(?:cron\s*\(|[\dH*?])/i.test(text) && /(?:^|[\s,(])H/i.test(text));
  return hashed || !/^0[a-z]*$/.test(spread);
}
