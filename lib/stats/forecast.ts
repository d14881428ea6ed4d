import type { Sql, Tx } from "../db/connect.ts";
import { Refusal } from "../refusal.ts";
import { highestCharacter } from "../schedule/filter-schedules.ts";
import { allowedPerMinute, type Capacity, readCapacity } from "./capacity.ts";
import { type Contribution, type Contributor, largestOf } from "./contributors.ts";
import {
  type HeavyMinute,
  heavyMinute,
  madeRule,
  ruleNames,
  type Suggestion,
  suggestionOf,
} from "./heaviest.ts";
import { type Made, noneMade, readMade } from "./made.ts";
import { hasFewRows, type Planned, readPlanned, type Span } from "./planned-groups.ts";
import { type SampledIds, sampleSchedules } from "./sampled-schedules.ts";
import { readScheduled } from "./scheduled-groups.ts";
import { curveWith, flattened } from "./spread.ts";
import { grow, type Minute, minuteMs, type Unfolded, unfoldMinutes, unfoldPassed } from "./unfold-minutes.ts";

export interface ForecastQuery {
  minutes: number;
  /** Default: now. */
  from?: Date | undefined;
  /** The curve that this spread would give is computed too. */
  spread?: { text: string; ms: number } | undefined;
  by?: Contributor | undefined;
  /** Only schedules whose keys begin with this. */
  prefix?: string | undefined;
  /** Whether the capacity is read, which counts the jobs of all teams. Default: yes. */
  withCapacity?: boolean | undefined;
}

export interface Forecast {
  asOf: Date;
  /** Every minute of the requested time; the first may have begun already. */
  minutes: { at: Date; fires: number }[];
  total: number;
  heaviest: HeavyMinute[];
  /** The largest contributors in the requested time, where they were asked for. */
  by: (Contribution & { perMinute: number | null })[];
  suggestion: Suggestion;
  spread: { spread: string; peak: number; minutes: { at: Date; fires: number }[] } | null;
  /** Null if no job was settled in the last day. */
  capacity: Capacity | null;
  /** False if only a sample was read, or a rule was not computed to the end. */
  exact: boolean;
}

const heaviestMax = 5;
const namesMax = 20;

/** How far ahead a forecast may begin. */
export const forecastDaysMax = 32;

/** Up to this many schedules of a prefix are read; with more of them the request is refused. */
export const prefixSchedulesMax = 10_000;

/** Schedules that are read for a window far ahead, if the plan has too many rows before its end. */
const sampledMax = 5_000;

/** Minutes before the requested time, whose fires a spread would move into it. */
const beforeMs = 60 * minuteMs;

interface Sources extends Planned {
  asOf: Date;
  made: Made;
}

/** The fires of the requested minutes, from the plan and from the jobs made already. */
export async function readForecast(sql: Sql, query: ForecastQuery): Promise<Forecast> {
  const { asOf, groups, named, exact, made } = await readSources(sql, query);
  const now = minuteOf(asOf);
  const from = query.from === undefined ? now : Math.max(now, minuteOf(query.from));
  const reach = from - Math.max(beforeMs, query.spread?.ms ?? 0);
  const passed = unfoldPassed(groups, { from: Math.min(now, reach), now });
  const begin = Math.max(now, reach);
  const count = (from - begin) / minuteMs + query.minutes;
  const unfolded = unfoldMinutes(groups, { from: begin, count, now });
  addMade(unfolded.minutes, made.minutes);
  const line = unfolded.minutes.slice(-query.minutes);
  const before = [...passed.minutes, ...unfolded.minutes.slice(0, -query.minutes)];
  const contributing =
    query.by === undefined
      ? null
      : contributorsOf(groups, named, { unfolded, window: { from, count: query.minutes, now } });
  addNamed(contributing ?? [], made.named);
  const names = ruleNames(groups);
  const isExact = exact && made.exact && unfolded.exact && passed.exact;
  const heavy = line
    .filter(({ fires }) => fires > 0)
    .toSorted((one, other) => other.fires - one.fires || one.at - other.at);
  return {
    asOf,
    minutes: line.map(({ at, fires }) => ({ at: new Date(at), fires })),
    total: line.reduce((sum, { fires }) => sum + fires, 0),
    heaviest: heavy.slice(0, heaviestMax).map((minute) =>
      heavyMinute(
        minute,
        names,
        contributing?.find(({ at }) => at === minute.at),
      ),
    ),
    by: contributing === null ? [] : await largest(sql, contributing, query.by),
    suggestion: suggestionOf(line, flattened(line, before), { names, isExact }),
    spread: query.spread === undefined ? null : spreadCurve(line, before, query.spread),
    capacity: query.withCapacity === false ? null : await readCapacity(sql, asOf),
    exact: isExact,
  };
}

/** A spread would have moved jobs that are made already as it will move the ones to come. */
function addMade(minutes: readonly Minute[], made: Made["minutes"]): void {
  for (const { at, fires, together } of made) {
    const minute = minuteAt(minutes, at);
    if (minute === undefined) continue;
    minute.fires += fires;
    minute.together += together;
    minute.shares.set(madeRule, fires);
  }
  for (const minute of minutes) minute.fires = Math.round(minute.fires);
}

function addNamed(minutes: readonly Minute[], made: Made["named"]): void {
  for (const { at, fires, names } of made) {
    const minute = minuteAt(minutes, at);
    if (minute === undefined) continue;
    for (const name of names) grow(minute.names, name, fires);
  }
}

function minuteAt(minutes: readonly Minute[], at: number): Minute | undefined {
  return minutes[(at - (minutes[0]?.at ?? 0)) / minuteMs];
}

/** The minutes with the planned fires of each contributor. */
function contributorsOf(
  groups: Planned["groups"],
  named: Planned["named"],
  { unfolded, window }: { unfolded: Unfolded; window: { from: number; count: number; now: number } },
): Minute[] {
  if (named === groups) return unfolded.minutes.slice(-window.count);
  return unfoldMinutes(named, window).minutes;
}

async function largest(
  sql: Tx,
  minutes: readonly Minute[],
  by: Contributor | undefined,
): Promise<Forecast["by"]> {
  const most = largestOf(minutes, namesMax);
  const names = most.flatMap(({ name }) => name ?? []);
  const allowed = by === "target" ? await allowedPerMinute(sql, names) : new Map<string, number>();
  return most.map((each) => ({
    ...each,
    perMinute: each.name === null ? null : (allowed.get(each.name) ?? null),
  }));
}

function spreadCurve(
  line: readonly Minute[],
  before: readonly Minute[],
  { text, ms }: NonNullable<ForecastQuery["spread"]>,
): Forecast["spread"] {
  const curve = curveWith(line, before, ms);
  return {
    spread: text,
    peak: Math.max(0, ...curve),
    minutes: line.map(({ at }, index) => ({ at: new Date(at), fires: curve[index] ?? 0 })),
  };
}

/**
 * The groups that fire. A prefix is computed from its schedules; a window far ahead too, from a
 * sample of all, if the plan has too many rows before its end.
 */
async function readSources(sql: Sql, query: ForecastQuery): Promise<Sources> {
  const { by, prefix } = query;
  const read = await sql.begin(async (tx) => {
    // The planner's estimate is high enough for JIT, and compiling takes longer than running the
    // plan.
    await tx`set local jit = off`;
    // One core at most, so that due jobs are worked meanwhile.
    await tx`set local max_parallel_workers_per_gather = 0`;
    const span = await readSpan(tx, query);
    const isAhead = query.from !== undefined && query.from > span.now;
    if (prefix !== undefined || (isAhead && !(await hasFewRows(tx, span)))) return { span, planned: null };
    return {
      span,
      planned: await readPlanned(tx, span, by),
      made: await readMade(tx, { end: span.end, by }),
    };
  }, "isolation level repeatable read");
  const { now: asOf } = read.span;
  if (read.planned !== null) return { asOf, ...read.planned, made: read.made };
  const sampled = prefix === undefined ? await sampleSchedules(sql, sampledMax) : await under(sql, prefix);
  const groups = await readScheduled(sql, sampled, { now: asOf, by });
  return { asOf, groups, named: by === undefined ? [] : groups, exact: sampled.weight === 1, made: noneMade };
}

async function readSpan(tx: Tx, { from, minutes }: ForecastQuery): Promise<Span> {
  const [row] = await tx<{ now: Date; from: Date }[]>`
    select carillon.clock() as now, min(watermark_at) as from from carillon.shards`;
  if (row === undefined) throw new Error("The database's clock gave no time.");
  const first = from ?? row.now;
  const ahead = first.getTime() - row.now.getTime();
  if (minuteOf(first) < minuteOf(row.now) || ahead > forecastDaysMax * 24 * 60 * minuteMs)
    throw new Refusal("impossible", "There is no forecast for this time.", [
      { path: "from", message: `takes an instant from now to ${forecastDaysMax} days ahead` },
    ]);
  return { ...row, end: new Date(minuteOf(first) + minutes * minuteMs) };
}

async function under(tx: Tx, prefix: string): Promise<SampledIds> {
  const rows = await tx<{ id: string }[]>`
    select id from carillon.schedules
    where deleted_at is null and key >= ${prefix} and key < ${prefix + highestCharacter}
    order by key limit ${prefixSchedulesMax + 1}`;
  if (rows.length <= prefixSchedulesMax) return { ids: rows.map(({ id }) => id), weight: 1 };
  throw new Refusal("impossible", "The prefix has too many schedules for a forecast of its own.", [
    { path: "prefix", message: `takes a prefix of at most ${prefixSchedulesMax} schedules: make it longer` },
  ]);
}

function minuteOf(instant: Date): number {
  return Math.floor(instant.getTime() / minuteMs) * minuteMs;
}
