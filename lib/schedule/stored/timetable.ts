import { createHash } from "node:crypto";
import { BoundedMap } from "../../bounded-map.ts";
import { nextAfter, singleTimes } from "../../cadence/cadence.ts";
import type { Cadence } from "../../cadence/cadence-kinds.ts";
import { durationMs } from "../../cadence/duration.ts";
import { wholeSeconds } from "../shape/pulse-shape.ts";
import type { ScheduleBody } from "../shape/schedule-body.ts";

/**
 * When a schedule's occurrences are due, and the rule for those that could not be planned in time.
 */
export interface Timetable {
  cadence: Cadence;
  /** The time from an occurrence to its due time, from `spread`; the same for every occurrence. */
  lagMs: number;
  /** The due time is rounded up to a multiple of this. */
  slotMs: number | null;
  catchUp: CatchUp;
  /** The remaining number of cadence jobs; null without a limit. */
  firesLeft: number | null;
}

export interface CatchUp {
  policy: "latest" | "all" | "skip";
  withinMs: number | null;
  limit: number;
}

export const plainCatchUp: CatchUp = { policy: "latest", withinMs: null, limit: 100 };

type TimingBody = Pick<ScheduleBody, "spread" | "slot" | "catchUp" | "endsAt" | "maxFires" | "delivery">;

export function timetableOf({
  key,
  cadence,
  body,
  fires,
}: {
  key: string;
  cadence: Cadence;
  body: TimingBody;
  fires: number | null;
}): Timetable {
  const { policy, within, limit } = body.catchUp;
  return {
    cadence,
    ...lagOf(key, body),
    catchUp: { policy, withinMs: within === null ? null : durationMs(within), limit },
    firesLeft: body.maxFires === null ? null : Math.max(0, body.maxFires - (fires ?? 0)),
  };
}

/**
 * True if the columns of a plan row do not contain all rules of a schedule, or if its jobs pass a
 * lane. The tick then reads the rules of the schedule.
 */
export function isGoverned({
  slot,
  catchUp,
  endsAt,
  maxFires,
  overlap,
}: TimingBody & Pick<ScheduleBody, "overlap">): boolean {
  const plain = catchUp.policy === plainCatchUp.policy && catchUp.within === null;
  return !plain || slot !== null || endsAt !== null || maxFires !== null || overlap !== "allow";
}

/** The timetable after this many more of its fires. */
export function afterFires(timetable: Timetable, made: number): Timetable {
  const { firesLeft } = timetable;
  return firesLeft === null ? timetable : { ...timetable, firesLeft: Math.max(0, firesLeft - made) };
}

/** How the due times of a schedule lag behind its occurrences. */
export function lagOf(
  key: string,
  body: Pick<ScheduleBody, "spread" | "slot" | "delivery">,
): Pick<Timetable, "lagMs" | "slotMs"> {
  return { lagMs: lagMsOf(key, body), slotMs: body.slot === null ? null : durationMs(body.slot) };
}

/** The time by which spread and key move each occurrence of a schedule. */
export function lagMsOf(
  key: string,
  { spread, delivery }: Pick<ScheduleBody, "spread" | "delivery">,
): number {
  const lagMs = spreadOffset(key, durationMs(spread) ?? 0);
  return delivery === "pulse" ? wholeSeconds(lagMs) : lagMs;
}

/** The offset of a schedule in `[0, spread)`: evenly spread over keys, and constant for a key. */
export function spreadOffset(key: string, spreadMs: number): number {
  return spreadMs <= 0 ? 0 : Number(placeOf(key) % BigInt(spreadMs));
}

/**
 * The number of a key for its spread. It is remembered: an edit needs it for the schedule before
 * and after, and a batch for each of a thousand keys.
 */
function placeOf(key: string): bigint {
  const known = placeByKey.get(key);
  if (known !== undefined) return known;
  const place = createHash("sha256").update(`spread ${key}`).digest().readBigUInt64BE();
  placeByKey.set(key, place);
  return place;
}

const placeByKey = new BoundedMap<string, bigint>(2_000);

/**
 * When an occurrence is due. A later occurrence is never due earlier, so `occurrenceDueBy` can
 * compute the opposite.
 */
export function dueAt({ lagMs, slotMs }: Pick<Timetable, "lagMs" | "slotMs">, occurrence: number): number {
  const due = occurrence + lagMs;
  return slotMs === null ? due : Math.ceil(due / slotMs) * slotMs;
}

/** The last instant whose occurrence would be due at or before `due`. */
export function occurrenceDueBy({ lagMs, slotMs }: Pick<Timetable, "lagMs" | "slotMs">, due: number): number {
  return (slotMs === null ? due : Math.floor(due / slotMs) * slotMs) - lagMs;
}

/**
 * The first occurrence of a new cadence: the first after now. A single instant may lie up to a
 * minute in the past, and is then the first.
 */
export function firstOf(cadence: Cadence, now: number): number | null {
  return nextAfter(
    cadence,
    Math.min(now, ...singleTimes(cadence).flatMap((at) => (at > now - singleGraceMs ? [at - 1] : []))),
  );
}

/**
 * How far a single instant may be in the past: the grace of parsing, and a little more for the time
 * between parsing and planning.
 */
const singleGraceMs = 61_000;

/**
 * The most occurrences of a schedule that may wait to be due, by its spread and slot. With more of
 * them every edit would take long.
 */
export const pendingMax = 1_000;

/** The largest possible lag of a due time behind its occurrence, for any key. */
export function longestLag({ spread, slot }: Pick<ScheduleBody, "spread" | "slot">): number {
  return (durationMs(spread) ?? 0) + (slot === null ? 0 : (durationMs(slot) ?? 0));
}

/** The first occurrence that is due after an instant. */
export function firstDueAfter(timetable: Timetable, instant: number): number | null {
  return nextAfter(timetable.cadence, occurrenceDueBy(timetable, instant));
}
