import { setImmediate } from "node:timers/promises";
import { formatDuration } from "../cadence/duration.ts";
import { byIndex } from "../db/by-index.ts";
import type { Sql, Tx } from "../db/connect.ts";
import { databaseClock } from "../db/database-clock.ts";
import { fits } from "../schedule/filter-schedules.ts";
import type { CadenceColumns } from "../schedule/stored/cadence-columns.ts";
import { runsIn } from "./rule-runs.ts";
import { allRules, inIndex, inRange, rulesOf } from "./rules.ts";
import type { Rule, Slice } from "./slices.ts";
import { fewOf, type Member } from "./sources.ts";
import type { AgendaFilter, Window } from "./window.ts";

/** The occurrences of one cadence in a window. */
export interface RuleCount {
  /** The mark of its schedules, as they store it. */
  rule: number;
  /** The cadence in its normal form; null for single instants. */
  when: string | null;
  timezone: string | null;
  /** The calendar that it is resolved with, and what it does on a day of it. */
  calendar: { name: string; on: NonNullable<CadenceColumns["calendarOn"]> } | null;
  /** The key of one of its schedules; null where they were not counted one by one. */
  sample: string | null;
  schedules: number;
  occurrences: number;
  /** Those of the occurrences that its calendar leaves out, so that they do not run. */
  leftOut: number;
}

export interface AgendaCounts {
  asOf: Date;
  /** The cadences with most runs, those first. */
  items: RuleCount[];
  /** All cadences with an occurrence in the window, also those that are not listed. */
  cadences: number;
  occurrences: number;
  leftOut: number;
  /** False if not all schedules were counted: the numbers are then estimates, or at least so high. */
  exact: boolean;
}

const listedMax = 100;

/** A cadence with more schedules than this is counted from the database's statistics. */
const schedulesMax = 20_000;

/** After so many entries of the index the next cadences are not counted. */
const entriesMax = 1_000_000;

/**
 * How many occurrences the live schedules have in a window, by cadence, and how many of them
 * calendars leave out. `startsAt`, `endsAt`, `maxFires` and holds are not looked at.
 */
export async function countAgenda(sql: Sql, window: Window, filter: AgendaFilter): Promise<AgendaCounts> {
  const asOf = await databaseClock(sql);
  const few = await fewOf(sql, filter);
  const counted =
    few === null ? await countedByIndex(sql, window, filter) : await countedOf(sql, window, few);
  const shown = await named(sql, counted.rules);
  return {
    asOf,
    items: shown,
    cadences: counted.rules.length,
    occurrences: counted.rules.reduce((sum, { occurrences }) => sum + occurrences, 0),
    leftOut: counted.rules.reduce((sum, { leftOut }) => sum + leftOut, 0),
    exact: counted.exact,
  };
}

interface Counted {
  rules: Pick<RuleCount, "rule" | "schedules" | "occurrences" | "leftOut" | "sample">[];
  exact: boolean;
}

async function countedOf(sql: Sql, window: Window, members: readonly Member[]): Promise<Counted> {
  const byRule = Map.groupBy(members, ({ rule }) => rule);
  const rules: Counted["rules"] = [];
  const runsOf = runsIn(window);
  let exact = true;
  for (const rule of await rulesOf(sql, [...byRule.keys()])) {
    const of = byRule.get(rule.rule) ?? [];
    const runs = runsOf(rule);
    if (runs !== null) {
      exact &&= !runs.more;
      const [occurrences, leftOut] = [of.length * runs.occurrences, of.length * runs.leftOut];
      if (occurrences > 0)
        rules.push({
          rule: rule.rule,
          schedules: of.length,
          occurrences,
          leftOut,
          sample: of[0]?.key ?? null,
        });
      continue;
    }
    const counts = of
      .map(({ phase, key }) => ({ key, count: timesAt(rule.rule, phase, window) }))
      .filter(({ count }) => count > 0);
    const occurrences = counts.reduce((sum, { count }) => sum + count, 0);
    const sample = counts[0]?.key ?? null;
    if (occurrences > 0)
      rules.push({ rule: rule.rule, schedules: counts.length, occurrences, leftOut: 0, sample });
  }
  return { rules, exact };
}

/** How often a schedule of a phase occurs. */
function timesAt(rule: number, phase: number, { from, to }: Window): number {
  if (rule === 0) return phase >= from && phase < to ? 1 : 0;
  const every = -rule;
  const before = (instant: number) => Math.ceil((instant - phase) / every);
  return before(to) - before(from);
}

const rulesFor = (sql: Sql, { rule, prefix }: AgendaFilter) =>
  rule === undefined ? allRules(sql, prefix) : rulesOf(sql, [rule]);

/** Counts step by step; what is beyond the bounds is taken from the database's statistics. */
async function countedByIndex(sql: Sql, window: Window, filter: AgendaFilter): Promise<Counted> {
  const runsOf = runsIn(window);
  const rules = (await rulesFor(sql, filter)).map((rule) => ({ rule, runs: runsOf(rule) }));
  const meant = rules.filter(({ runs }) => runs === null || runs.occurrences > 0);
  const estimates = await estimatesOf(sql, filter);
  const counted: Counted = { rules: [], exact: meant.every(({ runs }) => runs?.more !== true) };
  let entries = 0;
  for (let at = 0; at < meant.length; at += countedAtOnce) {
    const some = meant.slice(at, at + countedAtOnce);
    const isOver = entries >= entriesMax;
    const parts = some.flatMap(({ rule, runs }) => partsOf(rule, runs?.occurrences ?? null, window));
    const counts = isOver ? [] : await countEntries(sql, filter, parts);
    entries += counts.reduce((sum, { looked }) => sum + looked, 0);
    const known = parts.map((part, index) => ({ part, ...countOf(part, counts[index], estimates) }));
    if (known.some(({ isCut }) => isCut)) counted.exact = false;
    for (const { rule, runs } of some) {
      const own = known.filter(({ part }) => part.slice.rule === rule.rule);
      const all = own.find(({ part }) => part.slice.high - part.slice.low === -rule.rule);
      const schedules = all?.count ?? own.reduce((sum, { count }) => sum + count, 0);
      const occurrences = own.reduce((sum, { part, count }) => sum + part.times * count, 0);
      const sample = own.find(({ part, count }) => part.times > 0 && count > 0)?.sample ?? null;
      const leftOut = schedules * (runs?.leftOut ?? 0);
      if (occurrences > 0) counted.rules.push({ rule: rule.rule, schedules, occurrences, leftOut, sample });
    }
    await setImmediate();
  }
  return counted;
}

const countedAtOnce = 50;

/** A part that is not counted, or only up to a bound, is estimated. */
function countOf(
  { slice }: CountedPart,
  found: PartCount | undefined,
  estimates: (slice: Slice) => number,
): { count: number; sample: string | null; isCut: boolean } {
  const sample = found?.sample ?? null;
  if (found !== undefined && found.looked <= schedulesMax)
    return { count: found.count, sample, isCut: false };
  return { count: Math.max(found?.count ?? 0, estimates(slice)), sample, isCut: true };
}

/** Schedules that are counted together, and how often each of them occurs. */
interface CountedPart {
  slice: Slice;
  times: number;
}

/** An interval occurs in whole periods, for all of its schedules, and in the rest for some of them. */
function partsOf(rule: Rule, runs: number | null, { from, to }: Window): CountedPart[] {
  if (runs !== null) return [{ slice: { rule: rule.rule, base: 0, low: 0, high: 1 }, times: runs }];
  if (rule.rule === 0) return [{ slice: { rule: 0, base: 0, low: from, high: to }, times: 1 }];
  const every = -rule.rule;
  const whole = Math.floor((to - from) / every);
  const all: CountedPart = { slice: { rule: rule.rule, base: 0, low: 0, high: every }, times: whole };
  const rest: CountedPart[] = [];
  const begin = from + whole * every;
  if (begin < to) {
    const low = begin % every;
    const high = low + (to - begin);
    rest.push({ slice: { rule: rule.rule, base: 0, low, high: Math.min(high, every) }, times: 1 });
    if (high > every)
      rest.push({ slice: { rule: rule.rule, base: 0, low: 0, high: high - every }, times: 1 });
  }
  return whole > 0 ? [all, ...rest] : rest;
}

/** How many schedules of a part were looked at, how many of them the filter selects, and the key of one. */
interface PartCount {
  looked: number;
  count: number;
  sample: string | null;
}

async function countEntries(
  sql: Sql,
  { prefix, rule: _, ...labels }: AgendaFilter,
  parts: readonly CountedPart[],
): Promise<readonly PartCount[]> {
  const slices = parts.map(({ slice }) => slice);
  const isLabelled = Object.values(labels).some((label) => label !== undefined);
  return byIndex(
    sql,
    (tx) => tx<PartCount[]>`
    select c.* from unnest(${slices.map(({ rule }) => rule)}::bigint[], ${slices.map(({ low }) => low)}::bigint[], ${slices.map(({ high }) => high - 1)}::bigint[])
      with ordinality u (rule, low, top, n)
    cross join lateral (
      select count(*)::int as looked, (count(*) filter (where f.fits))::int as count, min(s.key) filter (where f.fits) as sample from (
        select ${isLabelled ? tx`s.*` : tx`s.key`} from carillon.schedules s
        where ${inIndex(tx, "all")} and ${inRange(tx, { prefix, lowKey: tx`${prefix ?? ""}` })}
        order by s.rule, s.phase, s.key limit ${schedulesMax + 1}) s
      cross join lateral (select ${fits(tx, { prefix, ...labels })} as fits) f offset 0) c
    order by u.n`,
  );
}

/**
 * How many schedules a part has, by the database's statistics; 0 if they tell nothing about it. They
 * know no prefix and no label.
 */
async function estimatesOf(tx: Tx, { rule: _, ...filter }: AgendaFilter): Promise<(slice: Slice) => number> {
  if (Object.values(filter).some((each) => each !== undefined)) return () => 0;
  const rows = await tx<{ rule: string; schedules: number }[]>`
    select m.rule, m.share * c.reltuples::float8 as schedules
    from pg_catalog.pg_stats s join pg_catalog.pg_class c on c.oid = 'carillon.schedules'::regclass
    cross join lateral unnest(s.most_common_vals::text::bigint[], s.most_common_freqs) m (rule, share)
    where s.schemaname = 'carillon' and s.tablename = 'schedules' and s.attname = 'rule'`;
  const known = new Map(
    rows.map(({ rule, schedules }) => [Number(rule), Math.max(0, Math.round(schedules))]),
  );
  return ({ rule, low, high }) => {
    const all = known.get(rule) ?? 0;
    if (rule === 0) return 0;
    return rule < 0 ? Math.round((all * (high - low)) / -rule) : all;
  };
}

const runsOf = ({ occurrences, leftOut }: Counted["rules"][number]) => occurrences - leftOut;

/** The cadences with most runs, with their names. */
async function named(tx: Tx, counted: Counted["rules"]): Promise<RuleCount[]> {
  const listed = counted
    .toSorted((a, b) => runsOf(b) - runsOf(a) || b.occurrences - a.occurrences || a.rule - b.rule)
    .slice(0, listedMax);
  const rows = await tx<
    {
      id: number;
      expression: string;
      timezone: string;
      name: string | null;
      on: CadenceColumns["calendarOn"];
    }[]
  >`
    select c.id, c.expression, c.timezone, k.name, c.calendar_on as on from carillon.cadences c
    left join carillon.calendar_versions v on v.id = c.calendar_version left join carillon.calendars k on k.id = v.calendar_id
    where c.id = any(${listed.map(({ rule }) => rule).filter((rule) => rule > 0)}::int[])`;
  const cadences = new Map(rows.map((row) => [row.id, row]));
  return listed.map(({ rule, ...counts }) => {
    const { expression, timezone = null, name = null, on = null } = cadences.get(rule) ?? {};
    return {
      rule,
      when: expression ?? (rule < 0 ? `every ${formatDuration(-rule)}` : null),
      timezone,
      calendar: name === null || on === null ? null : { name, on },
      ...counts,
    };
  });
}
