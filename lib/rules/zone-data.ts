import { setImmediate } from "node:timers/promises";
import { joinedZones } from "../cadence/zone/joined-zones.ts";
import { canonicalTimezone } from "../cadence/zone/timezone.ts";
import {
  type OffsetChange,
  offsetChanges,
  type Zone,
  zoneNamed,
  zoneOf,
} from "../cadence/zone/zone-spans.ts";
import { dayMs } from "../schedule/shape/timing-shape.ts";

/** The stored offsets of a zone: from this instant on, this many milliseconds east of UTC. */
export type StoredOffsets = readonly (readonly [from: number, offset: number])[];

/** The rules of one release of the zone data, for a range of years. */
export interface ZoneData {
  version: string;
  coversFrom: Date;
  coversUntil: Date;
  rules: Readonly<Record<string, StoredOffsets>>;
}

const yearsBehind = 1;
const yearsAhead = 10;
const yearMs = 366 * dayMs;

export function coverageAt(now: Date): Pick<ZoneData, "coversFrom" | "coversUntil"> {
  return {
    coversFrom: new Date(now.getTime() - yearsBehind * yearMs),
    coversUntil: new Date(now.getTime() + yearsAhead * yearMs),
  };
}

/** Compares releases, which are named by year and letter. Null if a name is not of that form. */
export function isNewer(version: string, than: string): boolean | null {
  const [a, b] = [releaseOf(version), releaseOf(than)];
  if (a === null || b === null) return null;
  if (a.year !== b.year) return a.year > b.year;
  if (a.letters.length !== b.letters.length) return a.letters.length > b.letters.length;
  return a.letters > b.letters;
}

function releaseOf(version: string): { year: number; letters: string } | null {
  const [, year, letters] = /^(\d{4})([a-z]{1,2})$/.exec(version) ?? [];
  return year === undefined || letters === undefined ? null : { year: Number(year), letters };
}

/**
 * The number of zones that are read between two checks of the time. After each batch, other work of
 * the process can run.
 */
const zonesAtOnce = 10;

/**
 * The rules of the runtime's own zone data, for the zones it knows and the named ones; an unknown
 * name is left out. Takes about a millisecond per zone the first time. Null if time was up.
 */
export async function runtimeRules(
  named: readonly string[],
  { coversFrom, coversUntil }: Pick<ZoneData, "coversFrom" | "coversUntil">,
  timeIsUp: () => boolean,
): Promise<ZoneData["rules"] | null> {
  const rules: Record<string, StoredOffsets> = {};
  const names = [...new Set([...Intl.supportedValuesOf("timeZone").map(canonicalTimezone), ...named])];
  for (const [index, name] of names.entries()) {
    if (index % zonesAtOnce === 0) {
      if (timeIsUp()) return null;
      await setImmediate();
    }
    if (name === null || canonicalTimezone(name) === null) continue;
    const changes = offsetChanges(name, coversFrom.getTime(), coversUntil.getTime());
    rules[name] = changes.map(({ from, offset }) => [from, offset]);
  }
  return rules;
}

/** How far into the past rules are compared: a plan that an update can affect may be this old. */
const stillPlannedMs = 2 * dayMs;

/** The zones whose future rules differ between two releases, in the range that both cover. */
export function zonesThatDiffer(before: ZoneData, after: ZoneData, now: Date): string[] {
  const from = Math.max(
    before.coversFrom.getTime(),
    after.coversFrom.getTime(),
    now.getTime() - stillPlannedMs,
  );
  const until = Math.min(before.coversUntil.getTime(), after.coversUntil.getTime());
  if (from >= until) return [];
  const within = (offsets: StoredOffsets) =>
    JSON.stringify(offsetChangesWithin(changesOf(offsets), from, until));
  return Object.entries(before.rules)
    .filter(([zone, offsets]) => {
      const now = after.rules[zone];
      return now !== undefined && within(now) !== within(offsets);
    })
    .map(([zone]) => zone)
    .sort();
}

const changesOf = (offsets: StoredOffsets): OffsetChange[] =>
  offsets.map(([from, offset]) => ({ from, offset }));

function offsetChangesWithin(changes: readonly OffsetChange[], from: number, until: number): OffsetChange[] {
  const begun = changes.findLast((change) => change.from <= from);
  const later = changes.filter((change) => change.from > from && change.from < until);
  return begun === undefined ? later : [{ ...begun, from }, ...later];
}

/**
 * A zone by the rules of a stored release and, after the years that the release covers, by the
 * runtime's own rules.
 */
export function storedZone(timezone: string, offsets: StoredOffsets, coversUntil: Date): Zone {
  return joinedZones(zoneOf(changesOf(offsets)), zoneNamed(timezone), coversUntil.getTime());
}
