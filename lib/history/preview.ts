import { normalForm } from "../cadence/normal-form.ts";
import type { Tx } from "../db/connect.ts";
import { databaseClock } from "../db/database-clock.ts";
import { findCalendar } from "../schedule/calendars.ts";
import { resolveSpec, wordsOf } from "../schedule/resolve-spec.ts";
import type { ScheduleBody } from "../schedule/shape/schedule-body.ts";
import { firstOf, timetableOf } from "../schedule/stored/timetable.ts";
import { type ComingOccurrence, comingAfter } from "./next-occurrences.ts";

export interface PreviewParams {
  /** Needed for times that are spread by key. */
  key?: string | undefined;
  body: ScheduleBody;
  /**
   * Whether the request gave a target. If not, the body has a made-up one, because a preview needs
   * none; it is not checked against the caller's rights.
   */
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

/**
 * Previews a body as if it were saved now. Refused where saving would be refused; nothing is
 * stored.
 */
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
      limit: timetable.firesLeft === null ? null : { left: timetable.firesLeft, countFrom: begin },
    }),
  };
}

const keyless =
  "The times are spread by the schedule's key. Without `key`, the preview differs from the times that will run.";

/** Whether the times depend on the key: through `spread`, or through `H` in a cron expression. */
function isSpreadByKey({ when, spread }: ScheduleBody): boolean {
  const whens = typeof when === "string" ? [when] : when;
  const hashed = whens.some((text) => /^\s*(?:cron\s*\(|[\dH*?])/i.test(text) && /(?:^|[\s,(])H/i.test(text));
  return hashed || !/^0[a-z]*$/.test(spread);
}
