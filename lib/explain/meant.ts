import { nextAfter, previousBefore, previousRunBefore } from "../cadence/cadence.ts";
import type { Tx } from "../db/connect.ts";
import { dueAt, occurrenceDueBy } from "../schedule/stored/timetable.ts";
import { earlyMs, earlyVersion, timetableIn } from "./place.ts";
import type { VersionFact } from "./verdict.ts";

/** An instant means what lies less than this away: the CLI and logs show whole seconds. */
const nearMs = 1_000;

interface Candidate {
  occurrence: number;
  /** The occurrence itself, or when it was due. */
  at: number;
}

/**
 * The occurrence or job that an instant means: the one at it, or due at it, or else the nearest
 * within a second. An instant with none means itself.
 */
export function occurrenceMeant(
  key: string,
  versions: readonly VersionFact[],
  { at, beside }: { at: number; beside: readonly number[] },
): number {
  const jobs = beside.map((instant) => ({ occurrence: instant, at: instant }));
  const inForce = [...candidatesOf(key, versions, { at, isInForce: true }), ...jobs];
  // Occurrences that an edit has withdrawn are explained too.
  const found = inForce.length > 0 ? inForce : candidatesOf(key, versions, { at, isInForce: false });
  const [best] = found.sort((a, b) => away(a, at) - away(b, at));
  return best?.occurrence ?? at;
}

/**
 * A shown instant is cut to whole seconds, so what follows it is nearer than what lies before it;
 * and an occurrence is nearer than one that was due then.
 */
function away({ at: instant, occurrence }: Candidate, at: number): number {
  const behind = instant < at ? nearMs : 0;
  const moved = occurrence === instant ? 0 : 0.5;
  return Math.abs(instant - at) + behind + moved;
}

/**
 * The occurrences around an instant, and those that were due around it: of the version in force
 * then, or of the others.
 */
function candidatesOf(
  key: string,
  versions: readonly VersionFact[],
  { at, isInForce }: { at: number; isInForce: boolean },
): Candidate[] {
  return versions.flatMap((version, index) => {
    const until = versions[index + 1]?.at ?? Number.POSITIVE_INFINITY;
    if (version.change === "deleted" || version.at >= at + nearMs + earlyMs) return [];
    if (isInForce && until < at - nearMs - earlyMs) return [];
    return occurrencesAround(key, version, at).filter(({ occurrence }) => {
      const isKnown = occurrence > version.at || earlyVersion(versions, occurrence) === version;
      return isKnown && occurrence <= until === isInForce;
    });
  });
}

function occurrencesAround(key: string, version: VersionFact, at: number): Candidate[] {
  const { cadence } = version;
  const timetable = timetableIn(key, version);
  const due = previousRunBefore(cadence, occurrenceDueBy(timetable, at + nearMs - 1) + 1);
  return [nextAfter(cadence, at - 1), previousBefore(cadence, at), due]
    .flatMap((occurrence, index) => {
      if (occurrence === null) return [];
      return [{ occurrence, at: index === 2 ? dueAt(timetable, occurrence) : occurrence }];
    })
    .filter((each) => Math.abs(each.at - at) < nearMs);
}

/** Most jobs of one schedule that are read beside its cadence around an instant. */
const besideMax = 20;

/** The instants of the schedule's jobs beside its cadence that lie within a second. */
export async function besideNear(tx: Tx, scheduleId: string, at: Date): Promise<number[]> {
  const rows = await tx<{ at: Date }[]>`
    select occurrence as at from carillon.jobs_beside
    where schedule_id = ${scheduleId} and occurrence > ${new Date(at.getTime() - nearMs)} and occurrence < ${new Date(at.getTime() + nearMs)}
    order by occurrence limit ${besideMax}`;
  return rows.map((row) => row.at.getTime());
}
