import { isRun, nextAfter, nextRunAfter, previousRunBefore } from "../cadence/cadence.ts";
import type { Cadence, Calendared } from "../cadence/cadence-kinds.ts";
import { isExcluded } from "../cadence/calendar-rules.ts";
import { movedTo } from "../cadence/calendared.ts";
import { type DescribedOccurrence, describeOccurrences } from "../cadence/occurrence-notes.ts";
import { MS_PER_DAY } from "../cadence/zone/civil.ts";
import { dateText } from "../cadence/zone/wall-text.ts";
import { zoneNamed } from "../cadence/zone/zone-spans.ts";
import { plansUpTo } from "../plan/plans-up-to.ts";
import { dueAt, type Timetable, timetableOf } from "../schedule/stored/timetable.ts";
import type { VersionFact } from "./verdict.ts";

/** A day that a calendar excludes, and the entry that excludes it. */
export interface ExcludedDay {
  name: string;
  day: string;
  entry: string | null;
}

/** The relation of an instant to a version's cadence. */
export type Place =
  | { kind: "run" }
  | { kind: "skipped-day"; calendar: ExcludedDay }
  /** `to` is null if no free day is near enough. */
  | { kind: "moved"; to: number | null; calendar: ExcludedDay }
  | { kind: "before-start"; startsAt: number }
  | { kind: "after-end"; endsAt: number }
  | { kind: "none" };

export function timetableIn(
  key: string,
  { cadence, body }: Pick<VersionFact, "cadence" | "body">,
): Timetable {
  return timetableOf({ key, cadence, body, fires: null });
}

const occursAt = (cadence: Cadence, at: number) => nextAfter(cadence, at - 1) === at;

export function placeOf({ cadence, body }: Pick<VersionFact, "cadence" | "body">, at: number): Place {
  if (occursAt(cadence, at)) {
    if (isRun(cadence, at)) return { kind: "run" };
    const calendared = calendaredOf(cadence);
    const calendar = calendared === null ? null : excludedDay(calendared, body.calendar?.name, at);
    return calendar === null ? { kind: "run" } : { kind: "skipped-day", calendar };
  }
  if (cadence.kind === "window" && occursAt(cadence.of, at)) {
    const { startsAt, endsAt } = cadence;
    if (startsAt !== null && at < startsAt) return { kind: "before-start", startsAt };
    if (endsAt !== null) return { kind: "after-end", endsAt };
  }
  return movedAway(cadence, body.calendar?.name, at) ?? { kind: "none" };
}

/** The part of a cadence that a calendar applies to. Null if none does. */
export function calendaredOf(cadence: Cadence): Calendared | null {
  if (cadence.kind === "window") return calendaredOf(cadence.of);
  return cadence.kind === "calendared" ? cadence : null;
}

/**
 * Where an occurrence went that a calendar has moved to another day. Null if no calendar has moved
 * it.
 */
function movedAway(cadence: Cadence, name: string | undefined, at: number): Place | null {
  const calendared = calendaredOf(cadence);
  if (calendared === null || !occursAt(calendared.of, at)) return null;
  const calendar = excludedDay(calendared, name, at);
  return calendar === null ? null : { kind: "moved", to: movedTo(calendared, at), calendar };
}

function excludedDay(
  { rules, timezone }: Calendared,
  name: string | undefined,
  at: number,
): ExcludedDay | null {
  const wall = at + zoneNamed(timezone).spanAt(at).offset;
  const day = Math.floor(wall / MS_PER_DAY);
  if (!isExcluded(rules, day)) return null;
  const date = rules.dates.find((entry) => isExcluded({ dates: [entry], weekly: [] }, day));
  const weekday = rules.weekly.find((entry) => isExcluded({ dates: [], weekly: [entry] }, day));
  return { name: name ?? "", day: dateText(wall), entry: date ?? weekday ?? null };
}

/**
 * The index of the version in force at an instant. A version that begins exactly at the instant
 * does not count yet.
 */
export function indexAt(versions: readonly VersionFact[], at: number): number {
  return versions.findLastIndex((version) => version.at < at);
}

/** The newest version that began by an instant. */
export function versionBy(versions: readonly VersionFact[], instant: number): VersionFact | undefined {
  return versions.findLast((version) => version.at <= instant);
}

/** An `at` may lie this long before the version that names it. */
export const earlyMs = 61_000;

/**
 * The version that names this instant as its `at`, if the instant lies a little before the version.
 */
export function earlyVersion(versions: readonly VersionFact[], at: number): VersionFact | undefined {
  return versions.find((version) => {
    const cadence = version.cadence.kind === "window" ? version.cadence.of : version.cadence;
    return cadence.kind === "once" && cadence.at === at && version.at >= at && version.at - earlyMs < at;
  });
}

/** The version that gives an instant its occurrence. */
export function versionOf(versions: readonly VersionFact[], at: number): VersionFact | undefined {
  return earlyVersion(versions, at) ?? versions[indexAt(versions, at)];
}

/**
 * The version that plans an occurrence, and so decides when it is due and whether a limit excludes it:
 * the one that gives it, or a later one that plans it again.
 */
export function plannerOf(
  key: string,
  versions: readonly VersionFact[],
  at: number,
): VersionFact | undefined {
  let version = versionOf(versions, at);
  for (const next of version === undefined ? [] : versions.slice(versions.indexOf(version) + 1)) {
    if (version === undefined || dueAt(timetableIn(key, version), at) <= plansUpTo(version, next)) break;
    version = next;
  }
  return version;
}

export interface Nearest {
  before: DescribedOccurrence | null;
  after: DescribedOccurrence | null;
}

/**
 * The runs just before and after an instant, by the version in force at each, with notes on clocks
 * and calendars.
 */
export function nearestTo(versions: readonly VersionFact[], at: number): Nearest {
  const before = nearestBefore(versions, at);
  const after = nearestAfter(versions, at, before?.at ?? at);
  return { before, after };
}

function nearestBefore(versions: readonly VersionFact[], at: number): DescribedOccurrence | null {
  for (let index = indexAt(versions, at); index >= 0; index--) {
    const version = versions[index];
    if (version === undefined || version.change === "deleted") continue;
    const until = versions[index + 1]?.at ?? Number.POSITIVE_INFINITY;
    const found = previousRunBefore(version.cadence, Math.min(at, until + 1));
    if (found !== null && found > version.at) return described(version, found - 1, found);
  }
  return null;
}

function nearestAfter(
  versions: readonly VersionFact[],
  at: number,
  since: number,
): DescribedOccurrence | null {
  for (let index = Math.max(0, indexAt(versions, at)); index < versions.length; index++) {
    const version = versions[index];
    if (version === undefined || version.change === "deleted") continue;
    const until = versions[index + 1]?.at ?? Number.POSITIVE_INFINITY;
    const from = Math.max(at, version.at);
    const found = nextRunAfter(version.cadence, from);
    if (found !== null && found <= until) return described(version, Math.max(since, version.at), found);
  }
  return null;
}

/** Describes a run, with the occurrences left out between `since` and it. */
function described(
  { cadence, body: { timezone } }: VersionFact,
  since: number,
  at: number,
): DescribedOccurrence | null {
  const isNext = nextRunAfter(cadence, since) === at;
  const [found] = describeOccurrences(cadence, { timezone, after: isNext ? since : at - 1, n: 1 });
  return found ?? null;
}

/** Notes how a clock change or a calendar affected one run. */
export function noteOn(
  { cadence, body: { timezone } }: Pick<VersionFact, "cadence" | "body">,
  at: number,
): string | null {
  const [found] = describeOccurrences(cadence, { timezone, after: at - 1, n: 1 });
  return found?.at === at ? found.note : null;
}
