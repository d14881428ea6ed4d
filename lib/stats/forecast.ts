import { formatDuration } from "../cadence/duration.ts";
import type { Sql } from "../db/connect.ts";
import { readMade } from "./made.ts";
import { type PlannedGroup, readPlanned } from "./planned-groups.ts";
import { type Flattened, flattened } from "./spread.ts";
import { type Minute, minuteMs, ruleOf, unfoldMinutes } from "./unfold-minutes.ts";

export interface HeavyMinute {
  at: Date;
  fires: number;
  /**
   * The largest contributions. Without a `when`: schedules that fire at most once in the requested
   * time.
   */
  most: { when: string | null; timezone: string | null; fires: number }[];
}

export interface Forecast {
  asOf: Date;
  /** Every minute of the requested time; the first has begun already. */
  minutes: { at: Date; fires: number }[];
  total: number;
  heaviest: HeavyMinute[];
  suggestion: { peak: number; average: number; withSpread: Flattened[]; text: string };
  /** False if only a sample of the plan's rows was read, or a rule was not computed to the end. */
  exact: boolean;
}

const heaviestMax = 5;
const mostMax = 3;
/** A spread is suggested if it reduces the heaviest minute by at least a fifth. */
const worthIt = 0.8;

/** The fires of the coming minutes, from the plan and from the jobs made already. */
export async function readForecast(sql: Sql, minutes: number): Promise<Forecast> {
  const { asOf, planned, made } = await sql.begin(async (tx) => {
    // The planner's estimate is high enough for JIT, and compiling takes longer than running the
    // plan.
    await tx`set local jit = off`;
    // One core at most, so that due jobs are worked meanwhile.
    await tx`set local max_parallel_workers_per_gather = 0`;
    const [row] = await tx<{ now: Date; from: Date }[]>`
      select carillon.clock() as now, min(watermark_at) as from from carillon.shards`;
    if (row === undefined) throw new Error("The database's clock gave no time.");
    const end = new Date(minuteOf(row.now) + minutes * minuteMs);
    const planned = await readPlanned(tx, { ...row, end });
    return { asOf: row.now, planned, made: await readMade(tx, end) };
  }, "isolation level repeatable read");
  const from = minuteOf(asOf);
  const unfolded = unfoldMinutes(planned.groups, from, minutes);
  const line = unfolded.minutes;
  for (const { at, fires } of made) {
    const minute = line[(at - from) / minuteMs];
    if (minute !== undefined) minute.fires += fires;
  }
  for (const minute of line) minute.fires = Math.round(minute.fires);
  const heavy = line
    .filter(({ fires }) => fires > 0)
    .toSorted((one, other) => other.fires - one.fires || one.at - other.at);
  return {
    asOf,
    minutes: line.map(({ at, fires }) => ({ at: new Date(at), fires })),
    total: line.reduce((sum, { fires }) => sum + fires, 0),
    heaviest: heavy.slice(0, heaviestMax).map((minute) => heavyMinute(minute, planned.groups)),
    suggestion: suggestionOf(line),
    exact: planned.exact && unfolded.exact,
  };
}

function minuteOf(now: Date): number {
  return Math.floor(now.getTime() / minuteMs) * minuteMs;
}

function heavyMinute({ at, fires, shares }: Minute, groups: readonly PlannedGroup[]): HeavyMinute {
  const most = [...shares]
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, mostMax)
    .map(([rule, of]) => ({
      ...named(groups.find((group) => ruleOf(group) === rule)),
      fires: Math.round(of),
    }));
  return { at: new Date(at), fires, most };
}

function named(group: PlannedGroup | undefined): { when: string | null; timezone: string | null } {
  const { cadence = null, everyMs = null } = group ?? {};
  if (cadence !== null) return { when: cadence.expression, timezone: cadence.timezone };
  return { when: everyMs === null ? null : `every ${formatDuration(everyMs)}`, timezone: null };
}

function suggestionOf(line: readonly Minute[]): Forecast["suggestion"] {
  const peak = Math.max(0, ...line.map(({ fires }) => fires));
  const average = Math.round(line.reduce((sum, { fires }) => sum + fires, 0) / line.length);
  const withSpread = flattened(line);
  const best = withSpread.toSorted((one, other) => one.peak - other.peak)[0];
  const helps = best !== undefined && best.peak <= peak * worthIt;
  const text = helps
    ? `The heaviest minute has ${peak} fires, ${average} is the average. With a spread of ${best.spread} on schedules that fire together it would have ${best.peak}.`
    : `The heaviest minute has ${peak} fires, ${average} is the average. A spread would change little.`;
  return { peak, average, withSpread, text };
}
