import { isDeepStrictEqual } from "node:util";
import { nextAfter, nextRunAfter, previousRunBefore, singleTimes } from "../cadence/cadence.ts";
import type { Cadence } from "../cadence/cadence-kinds.ts";
import { storedForm } from "../cadence/stored-cadence.ts";
import { parseWhen } from "../cadence/when/parse-when.ts";
import { joinedZones } from "../cadence/zone/joined-zones.ts";
import { withZones, type Zone, zoneNamed } from "../cadence/zone/zone-spans.ts";
import { isHeldAt } from "../history/upcoming.ts";
import type { ShardState } from "../plan/shard.ts";
import { dayMs } from "../schedule/shape/timing-shape.ts";
import type { StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import { dueAt, firstDueAfter, occurrenceDueBy, timetableOf } from "../schedule/stored/timetable.ts";

/** What other rules of its zone make of a schedule that was planned by earlier ones. */
export interface ZoneShift {
  /** Planned by the earlier rules and not by those in force. */
  gone: number[];
  /** The other way round, as far as they must be jobs already. */
  missing: number[];
  /** The cadence resolved anew, where the instants that are stored with it came of the earlier rules. */
  cadence: Cadence | null;
}

/** Null where nothing that is planned by now is any different. */
export function zoneShift(schedule: StoredSchedule, state: ShardState, earlier: Zone): ZoneShift | null {
  const cadence = resolvedAnew(schedule, state.now.getTime(), earlier);
  const before = withZones(only(schedule, earlier), () => plannedBy(schedule, state));
  const after = plannedBy(schedule, state);
  const gone = before.planned.filter((at) => !after.planned.includes(at));
  const missing = after.made.filter((at) => !before.made.includes(at));
  return gone.length + missing.length === 0 && cadence === null ? null : { gone, missing, cadence };
}

/** A schedule follows the clocks of one zone. */
export function only({ body }: Pick<StoredSchedule, "body">, zone: Zone): (timezone: string) => Zone | null {
  return (timezone) => (timezone === body.timezone ? zone : null);
}

/**
 * What stands in jobs and plan rows of a schedule beyond now, or beyond its hold: everything up to where its shard has reached,
 * and the first after. There are few of them: a shard reaches minutes ahead.
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

/** Null where nothing of it came of the earlier rules, or all of that is over. */
function resolvedAnew(schedule: StoredSchedule, now: number, earlier: Zone): Cadence | null {
  const { cadence } = schedule;
  const moved = { times: movedTimes(schedule, now, earlier), anchors: movedAnchor(schedule, now, earlier) };
  if (moved.times.size + moved.anchors.size === 0) return null;
  const anew = withMoved(cadence, moved);
  return isDeepStrictEqual(anew, cadence) ? null : anew;
}

/** A calendar interval that begins at a given instant counts from the wall time that the rules made of it. */
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
 * `at 2026-12-01T09:00` is stored as the instant that the rules made of it. What was due by now has been fired and stays; what
 * the clocks have gone past now comes at once.
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
    // Long enough ago that nothing which is to come by one of the rules is over by the other.
    const read = () => parseWhen(when, { timezone, dst, key, now: now - 2 * dayMs });
    const [before, after] = [withZones(only({ body }, earlier), read), read()];
    if (!before.ok || !after.ok || before.cadence.kind !== "once" || after.cadence.kind !== "once") continue;
    const { at } = before.cadence;
    const isToCome = stored.includes(at) && at > now;
    if (isToCome && after.cadence.at !== at) moved.set(at, Math.max(after.cadence.at, now + 1));
  }
  return moved;
}

/** Instants of single times, and the wall times from which calendar intervals count, with what they are now. */
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
      // In the order in which lists are stored, each meaning once.
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

/** Where a cadence goes on after a cut at which the rules of its zone change; null where just after the cut. */
export type GoesOn =
  /** A run that the clocks have gone past: it comes at once. */
  | { kind: "passed"; run: number }
  /** The clocks repeat times, the first of which came at `ran` by the rules of before; what has not come yet begins at `from`. */
  | { kind: "repeated"; ran: number; from: number }
  | null;

/**
 * To a schedule other rules are a clock change at the cut: a fixed time that it goes past runs once, one that it repeats does not run
 * again, and what follows real time just goes on; or as its `dst` says.
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

/** The last run of what the clocks go past at a change. */
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

/** A cadence that begins later: never earlier than it did. */
export function beginningAt(cadence: Cadence, startsAt: number): Cadence {
  if (cadence.kind !== "window") return { kind: "window", of: cadence, startsAt, endsAt: null };
  return { ...cadence, startsAt: Math.max(cadence.startsAt ?? startsAt, startsAt) };
}
