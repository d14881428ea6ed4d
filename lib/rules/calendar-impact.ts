import { isDeepStrictEqual } from "node:util";
import { nextRunAfter, unreadableReason } from "../cadence/cadence.ts";
import type { Cadence } from "../cadence/cadence-kinds.ts";
import { type CalendarRules, isExcluded } from "../cadence/calendar-rules.ts";
import { moveDaysMax } from "../cadence/calendared.ts";
import type { Tx } from "../db/connect.ts";
import { databaseClock } from "../db/database-clock.ts";
import { type CalendarBody, readCalendar } from "../schedule/calendars.ts";
import { dayMs } from "../schedule/shape/timing-shape.ts";
import { findSchedulesById, type StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import { countReferring, type Referring } from "./count-referring.ts";
import { exchangeRules } from "./exchange-rules.ts";
import { firstReferring } from "./referring.ts";

/** The effect that a change of a calendar would have on its schedules. */
export interface CalendarImpact extends Pick<Referring, "schedules" | "more"> {
  change: "created" | "changed" | "unchanged";
  /** Schedules that were looked at, in the order of their creation. */
  looked: number;
  /** Those among them that would run at other instants. */
  affected: number;
  /** The first affected ones. */
  samples: MovedRuns[];
}

/** The coming runs of a schedule from the first one that changes. */
export interface MovedRuns {
  key: string;
  timezone: string;
  cadence: string;
  before: Date[];
  after: Date[];
}

/** Schedules looked at in one request. */
export const impactLookedMax = 1_000;
const samplesMax = 10;
const runsShown = 5;

/** How far ahead a run may change. A yearly day off is seen once. */
const aheadMs = 400 * dayMs;
/** Runs of one cadence that are compared. */
const comparedMax = 3_000;
/** Time for comparing; what is not reached by then is not counted as looked at. */
const compareMs = 3_000;

/** Compares runs by the present rules and by others. Nothing is locked and nothing is written. */
export async function calendarImpact(
  sql: Tx,
  { name, body }: { name: string; body: CalendarBody },
  timeIsUp: () => boolean = withinMs(compareMs),
): Promise<CalendarImpact> {
  const current = await readCalendar(sql, name);
  const none = { schedules: 0, more: false, looked: 0, affected: 0, samples: [] };
  if (current === null) return { change: "created", ...none };
  const { schedules, more } = await countReferring(sql, current.id);
  const found = { ...none, schedules, more };
  const same = isDeepStrictEqual(body.rules, current.rules);
  if (same) return { change: body.description === current.description ? "unchanged" : "changed", ...found };
  const now = (await databaseClock(sql)).getTime();
  const begin = {
    skipping: firstChange(current.rules, body.rules, now, 0),
    moving: firstChange(current.rules, body.rules, now, moveDaysMax),
  };
  const ids = await firstReferring(sql, current.id, impactLookedMax);
  if (begin.moving === null) return { change: "changed", ...found, looked: ids.length };
  const read = await findSchedulesById(
    sql,
    ids.map(({ id }) => id),
  );
  const since = new Map(ids.map(({ id, changedAt }) => [id, changedAt]));
  const moment = { now, begin, since };
  return { change: "changed", ...found, ...compareAll(read, body.rules, moment, timeIsUp) };
}

function withinMs(ms: number): () => boolean {
  const end = performance.now() + ms;
  return () => performance.now() > end;
}

/**
 * From when on runs may differ: before the first day that only one of the rules excludes, by the
 * days that a run may be moved and one more, since zones are apart. Null if no such day comes.
 */
function firstChange(before: CalendarRules, after: CalendarRules, now: number, moved: number): number | null {
  const today = Math.floor(now / dayMs);
  for (let day = today - moved - 1; day <= today + aheadMs / dayMs; day++)
    if (isExcluded(before, day) !== isExcluded(after, day)) return Math.max(now, (day - moved - 1) * dayMs);
  return null;
}

interface Moment {
  now: number;
  /** From when on runs may differ, of cadences whose runs are skipped, or moved. */
  begin: { skipping: number | null; moving: number | null };
  /** When the present spec of each schedule came into force. */
  since: ReadonlyMap<string, Date>;
}

function compareAll(
  schedules: readonly StoredSchedule[],
  rules: CalendarRules,
  { now, begin, since }: Moment,
  timeIsUp: () => boolean,
): Pick<CalendarImpact, "looked" | "affected" | "samples"> {
  const known = new Map<string, Pick<MovedRuns, "before" | "after"> | null>();
  const samples: MovedRuns[] = [];
  let looked = 0;
  let affected = 0;
  for (const schedule of schedules) {
    if (timeIsUp()) break;
    looked += 1;
    if (unreadableReason(schedule.cadence) !== null || inner(schedule.cadence).kind !== "calendared")
      continue;
    const after = exchanged(schedule, rules, now, since.get(schedule.id) ?? schedule.createdAt);
    const alike = JSON.stringify([schedule.cadenceId, windowOf(schedule.cadence), windowOf(after)]);
    let moved = known.get(alike);
    if (moved === undefined) {
      const from = isMoving(schedule.cadence) ? begin.moving : begin.skipping;
      moved =
        from === null ? null : movedRuns(schedule.cadence, after, { from, upTo: now + aheadMs, timeIsUp });
      known.set(alike, moved);
    }
    if (moved === null) continue;
    affected += 1;
    const { key, body } = schedule;
    const cadence = [body.when].flat().join(" | ");
    if (samples.length < samplesMax) samples.push({ key, timezone: body.timezone, cadence, ...moved });
  }
  return { looked, affected, samples };
}

function exchanged(
  { cadence, createdAt, body }: StoredSchedule,
  rules: CalendarRules,
  cut: number,
  inForce: Date,
): Cadence {
  const startsAt = body.startsAt === null ? null : Date.parse(body.startsAt);
  const since = createdAt.getTime();
  return exchangeRules(cadence, rules, { cut, since, inForce: inForce.getTime(), startsAt }).cadence;
}

function windowOf(cadence: Cadence): unknown {
  return cadence.kind === "window" ? [cadence.startsAt, cadence.endsAt] : null;
}

const inner = (cadence: Cadence): Cadence => (cadence.kind === "window" ? cadence.of : cadence);

function isMoving(cadence: Cadence): boolean {
  const of = inner(cadence);
  return of.kind === "calendared" && of.on !== "skip";
}

/** The runs from the first one that differs; null if none differs. */
function movedRuns(
  before: Cadence,
  after: Cadence,
  { from, upTo, timeIsUp }: { from: number; upTo: number; timeIsUp: () => boolean },
): Pick<MovedRuns, "before" | "after"> | null {
  let at = from;
  for (let compared = 0; compared < comparedMax; compared++) {
    const [old, fresh] = [nextRunAfter(before, at), nextRunAfter(after, at)];
    const next = Math.min(old ?? Number.POSITIVE_INFINITY, fresh ?? Number.POSITIVE_INFINITY);
    if (next > upTo || (compared % 100 === 99 && timeIsUp())) return null;
    if (old !== fresh) return { before: runsFrom(before, at, upTo), after: runsFrom(after, at, upTo) };
    at = next;
  }
  return null;
}

function runsFrom(cadence: Cadence, after: number, upTo: number): Date[] {
  const runs: Date[] = [];
  let at = nextRunAfter(cadence, after);
  for (; at !== null && at <= upTo && runs.length < runsShown; at = nextRunAfter(cadence, at))
    runs.push(new Date(at));
  return runs;
}
