import { BoundedMap } from "../bounded-map.ts";
import type { Cadence } from "../cadence/cadence-kinds.ts";
import { byIndex } from "../db/by-index.ts";
import type { Sql, Tx } from "../db/connect.ts";
import { teamsWith } from "../quota/teams-of-prefix.ts";
import { Refusal } from "../refusal.ts";
import { fits, highestCharacter } from "../schedule/filter-schedules.ts";
import {
  type CadenceColumns,
  rulesOnce,
  sharedCadence,
  withSharedRules,
} from "../schedule/stored/cadence-columns.ts";
import type { Rule } from "./slices.ts";
import type { AgendaFilter } from "./window.ts";

/** The most shared cadences, and the most lengths of intervals, that one request computes. */
export const rulesMax = { cadences: 20_000, intervals: 20_000 };

/** The most rules of schedules with past occurrences that may have no job. */
const pendingMax = 2_000;

/** A shared cadence never changes, so it is kept by its id, for each database. */
const knownIn = new WeakMap<Sql, Map<number, Cadence>>();

const readAtOnce = 2_000;

/** The rules of these numbers, each with its cadence. */
export async function rulesOf(tx: Sql, numbers: readonly number[]): Promise<Rule[]> {
  const known = knownIn.get(tx) ?? new BoundedMap<number, Cadence>(2 * rulesMax.cadences);
  knownIn.set(tx, known);
  const unknown = numbers.filter((number) => number > 0 && !known.has(number));
  for (let from = 0; from < unknown.length; from += readAtOnce) {
    const rows = await tx<(CadenceRow & { id: number })[]>`
      select c.id, c.expression, c.timezone as zone, c.dst, c.calendar_on as "calendarOn", c.calendar_version as "calendarVersion", ${rulesOnce(tx)}
      from carillon.cadences c left join carillon.calendar_versions r on r.id = c.calendar_version
      where c.id = any(${unknown.slice(from, from + readAtOnce)}::int[])`;
    for (const row of withSharedRules(rows)) known.set(row.id, sharedCadence(row));
  }
  // A cadence that was deleted meanwhile has no schedules.
  return numbers.flatMap((rule): Rule[] => {
    if (rule <= 0) return [{ rule, cadence: null }];
    const cadence = known.get(rule);
    return cadence === undefined ? [] : [{ rule, cadence }];
  });
}

type CadenceRow = Pick<
  CadenceColumns,
  "expression" | "zone" | "dst" | "calendarOn" | "calendarVersion" | "rules"
>;

/**
 * The rules of the schedules under a prefix, and perhaps of others; without a prefix, of all. Refused
 * if they are too many for one request. Those of a team are read apart, so that the number of rules of
 * other teams is no matter.
 */
export async function allRules(tx: Sql, prefix: string | undefined): Promise<Rule[]> {
  const teams = prefix === undefined ? null : await teamsWith(tx, prefix);
  const { cadences, intervals, more } = teams === null ? await rulesOfAll(tx) : await rulesOfTeams(tx, teams);
  if (more || cadences.length > rulesMax.cadences || intervals.length > rulesMax.intervals) {
    const [whose, what] =
      teams === null
        ? ["", "Name the prefix of a team, or a group, tag or target with fewer schedules."]
        : [
            " under the prefix",
            "Name a longer prefix, or a group, tag or target, with at most 5,000 schedules.",
          ];
    throw new Refusal(
      "impossible",
      `There are more than ${rulesMax.cadences} different cadences or ${rulesMax.intervals} different intervals${whose}, which is the limit of an agenda. ${what}`,
    );
  }
  return rulesOf(tx, [...intervals, 0, ...cadences]);
}

interface Numbers {
  cadences: number[];
  intervals: number[];
  /** Reading has stopped before the end. */
  more: boolean;
}

async function rulesOfAll(tx: Sql): Promise<Numbers> {
  const cadences = await tx<{ id: number }[]>`
    select id from carillon.cadences order by id limit ${rulesMax.cadences + 1}`;
  const intervals = await distinctRules(tx, "all", { below: 0, most: rulesMax.intervals + 1 });
  return { cadences: cadences.map(({ id }) => id), intervals, more: false };
}

/** The most rules that are read of several teams, which may have the same. */
const foundMax = rulesMax.cadences + rulesMax.intervals;

/** One probe of the index per team and rule. */
async function rulesOfTeams(sql: Sql, teams: readonly number[]): Promise<Numbers> {
  const next = (tx: Tx, after: ReturnType<Tx>, team: ReturnType<Tx>) => tx`
    (select s.rule from carillon.schedules s
    where s.deleted_at is null and s.team_id is not null and s.rule is not null
      and (s.team_id, s.rule) > (${team}, ${after}) and (s.team_id, s.rule) <= (${team}, ${highestRule}::bigint)
    order by s.team_id, s.rule limit 1)`;
  const rows = await byIndex(
    sql,
    (tx) => tx<{ rule: string }[]>`
    with recursive found as (
      select t.id as team, ${next(tx, tx`${-highestRule}::bigint`, tx`t.id`)} as rule from unnest(${[...teams]}::int[]) t (id)
      union all select f.team, ${next(tx, tx`f.rule`, tx`f.team`)} from found f where f.rule is not null
    ) select rule from found where rule is not null limit ${foundMax + 1}`,
  );
  const numbers = [...new Set(rows.map(({ rule }) => Number(rule)))];
  return {
    cadences: numbers.filter((rule) => rule > 0),
    intervals: numbers.filter((rule) => rule < 0),
    more: rows.length > foundMax,
  };
}

/** Above the id of every cadence, and the length of every interval. */
const highestRule = Number.MAX_SAFE_INTEGER;

/** SQL: whether a schedule `s` is in the agenda of a filter. */
export const isMeant = (tx: Tx, { rule, ...filter }: AgendaFilter) =>
  tx`(${fits(tx, filter)} ${rule === undefined ? tx`` : tx`and s.rule = ${rule}::bigint`})`;

/**
 * The rules of schedules whose past occurrences may have no job yet. If there are too many, those of
 * all schedules under the prefix.
 */
export async function pendingRules(tx: Sql, prefix: string | undefined): Promise<Rule[]> {
  const numbers = await distinctRules(tx, "pending", { below: null, most: pendingMax + 1 });
  return numbers.length > pendingMax ? allRules(tx, prefix) : rulesOf(tx, numbers);
}

/** SQL: the schedules that an index of the agenda holds. */
export const inIndex = (tx: Tx, index: "all" | "pending") =>
  index === "all"
    ? tx`s.deleted_at is null and s.rule is not null`
    : tx`s.deleted_at is null and (s.lagged or s.held_since is not null) and s.rule is not null`;

/**
 * SQL: whether a schedule `s` is in the slice `u` (rule, low, top) with a key from `lowKey` on. At a
 * single instant these are the keys of the prefix; of a longer slice, only its ends know the prefix.
 */
export function inRange(
  tx: Tx,
  { prefix = "", lowKey }: { prefix?: string | undefined; lowKey: ReturnType<Tx> },
) {
  return tx`(s.rule, s.phase, s.key) >= (u.rule, u.low, ${lowKey}::text collate "C")
    and (s.rule, s.phase, s.key) < (u.rule, u.top, ${prefix + highestCharacter}::text collate "C")`;
}

/** One probe of the index per rule. */
async function distinctRules(
  sql: Sql,
  index: "all" | "pending",
  { below, most }: { below: number | null; most: number },
): Promise<number[]> {
  const next = (tx: Tx, from: ReturnType<Tx>) => tx`
    (select s.rule from carillon.schedules s where ${inIndex(tx, index)} ${from} ${below === null ? tx`` : tx`and s.rule < ${below}::bigint`}
    order by s.rule, s.phase, s.key limit 1)`;
  const rows = await byIndex(
    sql,
    (tx) => tx<{ rule: string }[]>`
    with recursive found as (
      ${next(tx, tx``)} union all select ${next(tx, tx`and s.rule > found.rule`)} from found where found.rule is not null
    ) select rule from found where rule is not null limit ${most}`,
  );
  return rows.map(({ rule }) => Number(rule));
}
