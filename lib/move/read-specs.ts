import type { Tx } from "../db/connect.ts";
import { Refusal } from "../refusal.ts";
import { findCalendar } from "../schedule/calendars.ts";
import { type CalendarRef, cadenceIds, cadenceOf } from "../schedule/stored/cadence-columns.ts";
import { readBody } from "../schedule/stored/stored-body.ts";
import type { Spec } from "../schedule/stored/version-rows.ts";
import type { MovedSchedule, MovedVersion } from "./moved-doc.ts";

/** A version with a spec, as it is stored here. */
export interface VersionHere {
  version: MovedVersion;
  spec: Spec;
  cadenceId: number | null;
}

export interface SpecsHere {
  /** All versions with a spec, in their order. */
  versions: VersionHere[];
  /** The one in force. */
  current: VersionHere;
}

/** The specs of a schedule that arrives, with the calendars of this installation. */
export async function readSpecs(tx: Tx, { key, versions, specVersion }: MovedSchedule): Promise<SpecsHere> {
  const calendars = new Map<string, CalendarRef | null>();
  const read: { version: MovedVersion; spec: Spec }[] = [];
  for (const version of versions) {
    if (version.spec === null) continue;
    const { calendar: name } = version.spec.cadence;
    if (name !== null && !calendars.has(name)) calendars.set(name, await findCalendar(tx, name));
    const calendar = name === null ? null : (calendars.get(name) ?? null);
    if (name !== null && calendar === null)
      throw new Refusal("impossible", `The schedule ${key} refers to a calendar that is not here.`, [
        { path: "calendar.name", message: `there is no calendar ${JSON.stringify(name)}` },
      ]);
    read.push({ version, spec: specOf(key, version.spec, calendar) });
  }
  const ids = await cadenceIds(
    tx,
    read.map(({ spec }) => spec),
  );
  const here = read.map((each, index) => ({ ...each, cadenceId: ids[index] ?? null }));
  const current = here.find(({ version }) => version.version === specVersion);
  if (current === undefined)
    throw new Refusal("invalid", `The document of ${key} lacks version ${specVersion}, which is in force.`);
  return { versions: here, current };
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
