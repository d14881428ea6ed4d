import type { Sql } from "../db/connect.ts";
import { databaseClock } from "../db/database-clock.ts";
import type { JobOwners } from "../history/find-schedules.ts";
import { type Freshness, readFreshness } from "./fresh-tallies.ts";
import { type Lateness, summarize } from "./lateness.ts";
import { ledgerBySteps } from "./ledger-series.ts";
import type { WalkedMost } from "./ledger-walk.ts";
import { oldestRecordAt } from "./oldest-record.ts";
import { addOutcomes, noOutcomes, type Outcomes, type OutcomesByStep, outcomesAt } from "./outcomes.ts";
import { type SeriesPlace, seriesPlaceText } from "./series-place.ts";
import {
  ceilTo,
  floorTo,
  minutesKeptMs,
  pageRange,
  type Range,
  type Step,
  stepLengths,
} from "./series-steps.ts";
import { settledBySteps } from "./settled-series.ts";

export interface SeriesSearch {
  owners: JobOwners;
  from?: Date | undefined;
  to?: Date | undefined;
  step: Step;
  limit: number;
  after?: SeriesPlace | undefined;
  /** The bounds of one page; a test sets lower ones. */
  most?: WalkedMost | undefined;
}

export interface SeriesStep extends Omit<Outcomes, "late" | "open" | "pulsesTaken" | "pulsesLost"> {
  at: Date;
  /** Whether the step was over when it was counted. */
  over: boolean;
  /** Failed attempts that another one follows. */
  retried: number;
  /** Null if steps are of settling. */
  open: number | null;
  /** Attempts that ended, per minute. */
  perMinute: number;
  lateness: Lateness;
  /** Null if steps are of occurrences: pulses have no rows. */
  pulses: { taken: number; lost: number } | null;
}

export interface Series {
  asOf: Date;
  /** Whether a job counts in the minute in which it was settled, or in that of its occurrence. */
  minutesOf: "settled" | "occurrence";
  step: Step;
  /** Null if the ledger is read, which is always up to date. */
  freshness: Freshness | null;
  /** Newest first. */
  items: SeriesStep[];
  next?: string;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/**
 * Outcomes, lateness and throughput by steps of time. All of them come from the counts by minute.
 * Those of some schedules come from the ledger, a bounded part of it for each page.
 */
export async function readSeries(sql: Sql, search: SeriesSearch): Promise<Series> {
  const { owners, step, limit, after } = search;
  const asOf = await databaseClock(sql);
  const stepMs = stepLengths[step];
  const isNamed = Object.values(owners).some((owner) => owner !== undefined);
  const asked = after ?? wholeRange(search, asOf.getTime(), stepMs);
  const first = isNamed
    ? await firstOfLedger(sql, after, stepMs)
    : ceilTo(stepMs, asOf.getTime() - minutesKeptMs);
  const whole = { ...asked, from: Math.max(asked.from, first) };
  const range = pageRange(whole, stepMs, limit);
  const head = { asOf, minutesOf: isNamed ? "occurrence" : "settled", step } as const;
  if (range.from >= range.to) return { ...head, freshness: null, items: [] };
  if (isNamed) {
    const { steps, rest } = await ledgerPage(sql, owners, { whole, range, stepMs, most: search.most });
    const covered = { from: rest?.to ?? range.from, to: range.to };
    const next = rest === null ? {} : { next: seriesPlaceText(rest) };
    return { ...head, freshness: null, items: itemsOf(steps, covered, { ...head, stepMs }), ...next };
  }
  return sql.begin(async (tx) => {
    const steps = await settledBySteps(tx, range, stepMs);
    const freshness = await readFreshness(tx);
    const items = itemsOf(steps, range, { ...head, stepMs });
    const rest = { from: whole.from, to: range.from, inside: null };
    return { ...head, freshness, items, ...(range.from > rest.from ? { next: seriesPlaceText(rest) } : {}) };
  }, "isolation level repeatable read");
}

/**
 * The first step of a series that is asked from long ago: a day before the oldest record, so that
 * its steps without jobs show that it is the oldest. The cursor of a further page has it already.
 */
async function firstOfLedger(sql: Sql, after: SeriesPlace | undefined, stepMs: number): Promise<number> {
  if (after !== undefined) return after.from;
  return floorTo(stepMs, (await oldestRecordAt(sql)).getTime() - dayMs);
}

/** An hour up to now, where nothing else is asked. Nothing has happened after the running step. */
function wholeRange({ from, to }: SeriesSearch, now: number, stepMs: number): SeriesPlace {
  const end = Math.min(to?.getTime() ?? now, now);
  return {
    from: floorTo(stepMs, from?.getTime() ?? end - hourMs),
    to: to === undefined || to.getTime() > now ? floorTo(stepMs, now) + stepMs : ceilTo(stepMs, end),
    inside: null,
  };
}

interface LedgerPageSearch {
  /** The whole requested time, and where the page starts. */
  whole: SeriesPlace;
  /** The part of it that fits on the page. */
  range: Range;
  stepMs: number;
  most?: WalkedMost | undefined;
}

/**
 * Reads one part of the ledger. It adds the counts of the page before for a step that was cut, and
 * says where the next page starts; null if there is none.
 */
export async function ledgerPage(
  sql: Sql,
  owners: JobOwners,
  { whole, range, stepMs, most }: LedgerPageSearch,
): Promise<{ steps: OutcomesByStep; rest: SeriesPlace | null }> {
  const { from, inside } = whole;
  const part = await ledgerBySteps(sql, owners, { range, place: inside?.place ?? null, stepMs, most });
  const { steps, stop } = part;
  if (inside !== null) addOutcomes(outcomesAt(steps, range.to - stepMs), inside.sofar);
  if (stop === null) {
    const to = part.range.from;
    return { steps, rest: to > from ? { from, to, inside: null } : null };
  }
  const at = floorTo(stepMs, stop.at);
  const sofar = steps.get(at) ?? noOutcomes();
  return { steps, rest: { from, to: at + stepMs, inside: { place: stop, sofar } } };
}

function itemsOf(
  steps: OutcomesByStep,
  { from, to }: Range,
  head: Pick<Series, "asOf" | "minutesOf"> & { stepMs: number },
): SeriesStep[] {
  const items: SeriesStep[] = [];
  for (let at = to - head.stepMs; at >= from; at -= head.stepMs)
    items.push(stepOf(at, steps.get(at) ?? noOutcomes(), head));
  return items;
}

const minuteMs = 60_000;
const secondMs = 1_000;

/**
 * A sum may be negative, and is shown as zero: a job may have been counted in an earlier step and
 * withdrawn in this one.
 */
function stepOf(
  at: number,
  { late, open, pulsesTaken, pulsesLost, ...sums }: Outcomes,
  { asOf, minutesOf, stepMs }: Pick<Series, "asOf" | "minutesOf"> & { stepMs: number },
): SeriesStep {
  // The first moments of a step say nothing about a minute.
  const passedMs = Math.min(stepMs, Math.max(secondMs, asOf.getTime() - at));
  const ended = Math.max(0, sums.succeeded) + Math.max(0, sums.failed);
  const isSettled = minutesOf === "settled";
  return {
    at: new Date(at),
    over: at + stepMs <= asOf.getTime(),
    made: Math.max(0, sums.made),
    succeeded: Math.max(0, sums.succeeded),
    failed: Math.max(0, sums.failed),
    retried: Math.max(0, sums.failed - sums.dead),
    dead: Math.max(0, sums.dead),
    cancelled: Math.max(0, sums.cancelled),
    skipped: Math.max(0, sums.skipped),
    missed: Math.max(0, sums.missed),
    open: isSettled ? null : open,
    perMinute: Math.round((ended / passedMs) * minuteMs * 10) / 10,
    lateness: summarize([...late].map(([bucket, jobs]) => ({ bucket, jobs }))),
    pulses: isSettled ? { taken: Math.max(0, pulsesTaken), lost: Math.max(0, pulsesLost) } : null,
  };
}
