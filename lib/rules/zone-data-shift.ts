import { isDeepStrictEqual } from "node:util";
import { nextAfter, nextRunAfter, previousRunBefore, singleTimes } from "../cadence/cadence.ts";
import type { Cadence } from "../cadence/cadence-kinds.ts";
import { storedForm } from "../cadence/stored-cadence.ts";
import { parseWhen } from "../cadence/when/parse-when.ts";
import { joinedZones } from "../cadence/zone/joined-zones.ts";
import { withZones, type Zone, zoneNamed } from "../cadence/zone/zone-spans.ts";
import type { ShardState } from "../plan/shard.ts";
import { isHeldAt } from "../schedule/held.ts";
import { dayMs } from "../schedule/shape/timing-shape.ts";
import type { StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import { dueAt, firstDueAfter, occurrenceDueBy, timetableOf } from "../schedule/stored/timetable.ts";

/** The difference for a schedule that was planned by earlier rules of its zone. */
export interface ZoneShift {
  /** Occurrences that were planned by the earlier rules and that the current rules do not have. */
  gone: number[];
  /**
   * Occurrences that the current rules have and the earlier ones do not, as far as they must be
   * jobs by now.
   */
  missing: number[];
  /**
   * The cadence resolved by the current rules, if its stored instants depend on the earlier ones.
   */
  cadence: Cadence | null;
}

/**
 * The difference between both rules for a schedule; null if everything planned so far is the same.
 */
export function zoneShift(schedule: StoredSchedule, state: ShardState, earlier: Zone): ZoneShift | null {
  const cadence = resolvedByCurrentRules(schedule, state.now.getTime(), earlier);
  const before = withZones(only(schedule, earlier), () => plannedBy(schedule, state));
  const after = plannedBy(schedule, state);
  const gone = before.planned.filter((at) => !after.planned.includes(at));
  const missing = after.made.filter((at) => !before.made.includes(at));
  return gone.length + missing.length === 0 && cadence === null ? null : { gone, missing, cadence };
}

/**
 * For `withZones`: replaces the zone of the schedule and no other, since a schedule follows the
 * clocks of one zone.
 */
export function only({ body }: Pick<StoredSchedule, "body">, zone: Zone): (timezone: string) => Zone | null {
  return (timezone) => (timezone === body.timezone ? zone : null);
}

/**
 * The occurrences in jobs and plan rows of a schedule after now, or after its hold: everything up
 * to where its shard has reached, and the first one beyond. They are few, because a shard reaches
 * only minutes ahead.
 */
function plannedBy(schedule: StoredSchedule, state: ShardState): { planned: number[]; made: number[] } {
  const now = state.now.getTime();
  const { heldUntil } = schedule;
  const isHeld = isHeldAt(schedule, now);
  if (isHeld && heldUntil === null) return { planned: [], made: [] };
  const timetable = timetableOf(schedule);
  const reached = Math.max(state.reachedAt.getTime(), state.watermarkAt.getTime());
  const planned: number[] = [];
  const made: number[] = [];
  let at = firstDueAfter(timetable, isHeld && heldUntil !== null ? heldUntil.getTime() : now);
  for (; at !== null; at = nextAfter(timetable.cadence, at)) {
    planned.push(at);
    if (dueAt(timetable, at) > reached) break;
    made.push(at);
  }
  return { planned, made };
}

/**
 * The cadence with its stored instants by the current rules; null if none of them depends on the
 * earlier rules, or if all that do are past.
 */
function resolvedByCurrentRules(schedule: StoredSchedule, now: number, earlier: Zone): Cadence | null {
  const { cadence } = schedule;
  const moved = { times: movedTimes(schedule, now, earlier), anchors: movedAnchor(schedule, now, earlier) };
  if (moved.times.size + moved.anchors.size === 0) return null;
  const resolved = withMoved(cadence, moved);
  return isDeepStrictEqual(resolved, cadence) ? null : resolved;
}

/**
 * A calendar interval that begins at `startsAt` is stored with the wall time of that instant.
 * Returns the wall time by the earlier rules with the one by the current rules; empty if they are
 * the same.
 */
function movedAnchor(
  { body: { startsAt, timezone } }: StoredSchedule,
  now: number,
  earlier: Zone,
): ReadonlyMap<number, number> {
  const begins = startsAt === null ? now : Date.parse(startsAt);
  if (begins <= now) return new Map();
  const wallBy = (zone: Zone) => begins + zone.spanAt(begins).offset;
  const [before, after] = [wallBy(earlier), wallBy(zoneNamed(timezone))];
  return before === after ? new Map() : new Map([[before, after]]);
}

/**
 * `at 2026-12-01T09:00` is stored as the instant by the rules of its zone at that time. Returns the
 * stored instants with those by the current rules. An instant that was due by now has fired and
 * stays; one that the current rules put into the past runs at once.
 */
function movedTimes(
  { key, body, cadence }: StoredSchedule,
  now: number,
  earlier: Zone,
): ReadonlyMap<number, number> {
  const moved = new Map<number, number>();
  const stored = singleTimes(cadence);
  if (stored.length === 0) return moved;
  const { timezone, dst } = body;
  for (const when of [body.when].flat()) {
    if (!/^\s*at\b/i.test(when)) continue;
    // Read as of two days ago, so that an instant ahead by one set of rules is not over by the
    // other.
    const read = () => parseWhen(when, { timezone, dst, key, now: now - 2 * dayMs });
    const [before, after] = [withZones(only({ body }, earlier), read), read()];
    if (!before.ok || !after.ok || before.cadence.kind !== "once" || after.cadence.kind !== "once") continue;
    const { at } = before.cadence;
    const isToCome = stored.includes(at) && at > now;
    if (isToCome && after.cadence.at !== at) moved.set(at, Math.max(after.cadence.at, now + 1));
  }
  return moved;
}

/**
 * Instants of single times, and the wall times from which calendar intervals count, each with its
 * new value.
 */
interface Moved {
  times: ReadonlyMap<number, number>;
  anchors: ReadonlyMap<number, number>;
}

function withMoved(cadence: Cadence, moved: Moved): Cadence {
  switch (cadence.kind) {
    case "once":
      return { ...cadence, at: moved.times.get(cadence.at) ?? cadence.at };
    case "calendar-interval":
      return cadence.from === 0
        ? { ...cadence, anchor: moved.anchors.get(cadence.anchor) ?? cadence.anchor }
        : cadence;
    case "union": {
      // In the order in which lists are stored, with each meaning once.
      const byMeaning = new Map(
        cadence.of
          .map((member) => withMoved(member, moved))
          .map((member) => [storedForm(member).expression, member] as const)
          .sort(([a], [b]) => (a < b ? -1 : 1)),
      );
      return { ...cadence, of: [...byMeaning.values()] };
    }
    case "calendared":
    case "window":
      return { ...cadence, of: withMoved(cadence.of, moved) };
    default:
      return cadence;
  }
}

/**
 * Where a cadence continues after the cut at which its zone's rules change. Null if the current
 * rules alone give its next run.
 */
export type GoesOn =
  /** A run that the clocks have skipped: it runs at once. */
  | { kind: "passed"; run: number }
  /**
   * The clocks repeat times. The first of these ran at `ran` by the earlier rules; the rest begins
   * at `from`.
   */
  | { kind: "repeated"; ran: number; from: number }
  | null;

/**
 * For a schedule, changed rules are a clock change at the cut. A fixed time that the clocks skip
 * runs once, a repeated one does not run again, and an interval just goes on; or as the schedule's
 * `dst` says.
 */
export function goesOn(schedule: StoredSchedule, now: Date, earlier: Zone): GoesOn {
  const { cadence } = schedule;
  const upTo = occurrenceDueBy(timetableOf(schedule), now.getTime());
  const change = upTo + 1;
  const inForce = zoneNamed(schedule.body.timezone);
  const zone = joinedZones(earlier, inForce, change);
  const across = (of: Cadence) => withZones(only(schedule, zone), () => nextRunAfter(of, upTo));
  const next = across(cadence);
  const plain = nextRunAfter(cadence, upTo);
  if (next === null || plain === null || next === plain) return null;
  if (next > plain) {
    const ran = plain + inForce.spanAt(plain).offset - earlier.spanAt(upTo).offset;
    return { kind: "repeated", ran, from: next };
  }
  const run = next === change ? passedBy(cadence, change, across) : null;
  return run === null ? null : { kind: "passed", run };
}

/** The last run that the clocks skip at a change. */
function passedBy(cadence: Cadence, change: number, across: (of: Cadence) => number | null): number | null {
  if (cadence.kind === "window") {
    const at = passedBy(cadence.of, change, across);
    return at === null || at < (cadence.startsAt ?? at) ? null : at;
  }
  if (cadence.kind === "union") {
    const found = cadence.of.map((member) => passedBy(member, change, across)).filter((at) => at !== null);
    return found.length === 0 ? null : Math.max(...found);
  }
  const isPassed = across(cadence) === change && nextRunAfter(cadence, change - 1) !== change;
  return isPassed ? previousRunBefore(cadence, change) : null;
}

/**
 * The cadence without its occurrences before `startsAt`. A cadence that already begins later stays
 * as it is.
 */
export function beginningAt(cadence: Cadence, startsAt: number): Cadence {
  if (cadence.kind !== "window") return { kind: "window", of: cadence, startsAt, endsAt: null };
  return { ...cadence, startsAt: Math.max(cadence.startsAt ?? startsAt, startsAt) };
}
