import { parseWhen, type WhenFault } from "../cadence/when/parse-when.ts";
import { type Fault, Refusal } from "../refusal.ts";
import { keyFault } from "../schedule/shape/schedule-key.ts";
import { parseScheduleBody } from "../schedule/shape/schedule-shape.ts";
import { whenFault } from "../schedule/shape/timing-shape.ts";
import { ownerTagFaults, relativeFault } from "./schedule-properties.ts";

/** A schedule as far as it can be checked without its deployment. */
export interface Checked {
  faults: Fault[];
  /** Surprises in its times, such as a day that not every month has, or a time that is past. */
  warnings: string[];
}

/**
 * Checks a schedule by the API's own parser. A time that is past is a warning and no fault: the
 * schedule may have been made before it.
 */
export function checkSchedule(key: string, body: { readonly [name: string]: unknown }, now: number): Checked {
  const ofKey = keyFault(key);
  const faults: Fault[] = ofKey === null ? [] : [{ path: "key", message: ofKey }];
  try {
    const { when, timezone, startsAt, dst } = parseScheduleBody(body);
    const from = startsAt === null ? null : Date.parse(startsAt);
    const parsed = parseWhen(when, { timezone, now, key, startsAt: from, dst });
    const isRelative = parsed.ok && parsed.relative;
    const isWrong = !parsed.ok && parsed.kind === "invalid";
    faults.push(
      ...(isWrong ? [whenFault(parsed)] : []),
      ...(isRelative ? [relativeFault] : []),
      ...ownerTagFaults(body["tags"]),
    );
    return { faults, warnings: parsed.ok ? parsed.warnings : [pastText(parsed)] };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const ofBody = error.faults.length > 0 ? error.faults : [{ path: "", message: error.message }];
    return { faults: [...faults, ...ofBody, ...ownerTagFaults(body["tags"])], warnings: [] };
  }
}

function pastText({ message, index }: WhenFault): string {
  const place = index === undefined ? "" : `when[${index}]: `;
  return `${place}${message} A deployment refuses a new schedule with it.`;
}
