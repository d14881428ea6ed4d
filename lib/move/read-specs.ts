import type { Tx } from "../db/connect.ts";
import { Refusal } from "../refusal.ts";
import { findCalendar } from "../schedule/calendars.ts";
import { type CalendarRef, cadenceOf } from "../schedule/stored/cadence-columns.ts";
import { readBody } from "../schedule/stored/stored-body.ts";
import type { Spec } from "../schedule/stored/version-rows.ts";
import type { MovedSchedule, MovedVersion } from "./moved-doc.ts";

/** A version with a spec, as it is read here. */
export interface VersionRead {
  version: MovedVersion;
  spec: Spec;
}

export interface SpecsRead {
  /** All versions with a spec, in their order. */
  versions: VersionRead[];
  /** The one in force. */
  current: VersionRead;
}

type Calendars = (name: string) => Promise<CalendarRef | null>;

/** Reads, and locks, each calendar once. */
export function calendarsOnce(tx: Tx): Calendars {
  const found = new Map<string, Promise<CalendarRef | null>>();
  return (name) => {
    const calendar = found.get(name) ?? findCalendar(tx, name);
    found.set(name, calendar);
    return calendar;
  };
}

/** The specs of a schedule that arrives, with the calendars of this installation. */
export async function readSpecs(
  calendars: Calendars,
  { key, versions, specVersion }: MovedSchedule,
): Promise<SpecsRead> {
  const read: VersionRead[] = [];
  for (const version of versions) {
    if (version.spec === null) continue;
    const { calendar: name } = version.spec.cadence;
    const calendar = name === null ? null : await calendars(name);
    if (name !== null && calendar === null)
      throw new Refusal(
        "impossible",
        `The schedule ${key} uses the calendar ${JSON.stringify(name)}, which is not here.`,
      );
    read.push({ version, spec: specOf(key, version.spec, calendar) });
  }
  const current = read.find(({ version }) => version.version === specVersion);
  if (current === undefined)
    throw new Refusal("invalid", `The document of ${key} lacks version ${specVersion}, which is in force.`);
  return { versions: read, current };
}

const instant = (text: string | null) => (text === null ? null : new Date(text));

function specOf(key: string, spec: NonNullable<MovedVersion["spec"]>, calendar: CalendarRef | null): Spec {
  const { body, fault } = readBody({ sparse: spec.body, target: spec.target, payload: spec.payload });
  const { onceAt, firstAt, startsAt, endsAt, everyMs, timezone, ...shared } = spec.cadence;
  const cadence = cadenceOf({
    ...shared,
    zone: timezone,
    onceAt: instant(onceAt),
    firstAt: instant(firstAt),
    startsAt: instant(startsAt),
    endsAt: instant(endsAt),
    everyMs: everyMs === null ? null : String(everyMs),
    cadenceId: null,
    calendarVersion: calendar?.versionId ?? null,
    calendarId: calendar?.id ?? null,
    rules: calendar?.rules ?? null,
  });
  if (fault !== null || cadence.kind === "unreadable")
    throw new Refusal("impossible", `The schedule ${key} cannot be read here.`, [
      { path: "versions", message: fault ?? (cadence.kind === "unreadable" ? cadence.reason : "") },
    ]);
  return { body, cadence, calendar };
}
