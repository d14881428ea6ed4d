import { BoundedMap } from "../bounded-map.ts";
import type { Cadence } from "../cadence/cadence-kinds.ts";
import { byIndex } from "../db/by-index.ts";
import type { Sql, Tx } from "../db/connect.ts";
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
export const rulesMax = { cadences: 20_000, intervals: 2_000 };

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

/** The rules of all schedules. Refused if they are too many for one request. */
export async function allRules(tx: Sql): Promise<Rule[]> {
  const cadences = await tx<{ id: number }[]>`
    select id from carillon.cadences order by id limit ${rulesMax.cadences + 1}`;
  const intervals = await distinctRules(tx, "all", { below: 0, most: rulesMax.intervals + 1 });
  if (cadences.length > rulesMax.cadences || intervals.length > rulesMax.intervals)
    throw new Refusal(
      "impossible",
      `There are more than ${rulesMax.cadences} different cadences or ${rulesMax.intervals} different intervals, which is the limit of an agenda of all schedules. Name a prefix, group, tag or target with fewer schedules.`,
    );
  return rulesOf(tx, [...intervals, 0, ...cadences.map(({ id }) => id)]);
}

/** SQL: whether a schedule `s` is in the agenda of a filter. */
export const isMeant = (tx: Tx, { rule, ...filter }: AgendaFilter) =>
  tx`(${fits(tx, filter)} ${rule === undefined ? tx`` : tx`and s.rule = ${rule}::bigint`})`;

/**
 * The rules of schedules whose past occurrences may have no job yet. If there are too many, those of
 * all schedules.
 */
export async function pendingRules(tx: Sql): Promise<Rule[]> {
  const numbers = await distinctRules(tx, "pending", { below: null, most: rulesMax.intervals + 1 });
  return numbers.length > rulesMax.intervals ? allRules(tx) : rulesOf(tx, numbers);
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
