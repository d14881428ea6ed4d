import { byIndex } from "../db/by-index.ts";
import type { Sql } from "../db/connect.ts";
import { accessFor, keysBehind, walked } from "../schedule/filter-schedules.ts";
import { allRules, inIndex, inRange, isMeant, pendingRules, rulesOf } from "./rules.ts";
import { type Rule, type Slice, startOf } from "./slices.ts";
import type { AgendaFilter } from "./window.ts";

/** A schedule at one of its occurrences, as far as its cadence tells. */
export interface Candidate {
  at: number;
  id: string;
  key: string;
}

/** A position in the order of candidates: by occurrence, then by key. */
export interface CandidatePlace {
  at: number;
  key: string;
}

export interface Looked {
  found: Candidate[];
  /** Where looking has ended; null if the slices were looked through. */
  last: CandidatePlace | null;
}

/**
 * Which schedules are looked at. `pending`: those whose past occurrences may have no job yet, since they
 * are held, or due after they occur; one index has them. `held`: the held ones of these.
 */
export type Among = "all" | "pending" | "held";

/** The schedules of an agenda. */
export interface Source {
  rules(sql: Sql, among: Among): Promise<Rule[]>;
  /** The candidates of some slices after a place, at most `most` of them. */
  look(
    sql: Sql,
    slices: readonly Slice[],
    options: { after: CandidatePlace | null; most: number; among: Among },
  ): Promise<Looked>;
}

/** Up to this many schedules are read at once, and their cadences computed directly. */
export const fewMax = 5_000;

/** The schedules of the filter. Many are read step by step, from an index by rule. */
export async function sourceFor(sql: Sql, filter: AgendaFilter): Promise<Source> {
  const few = await fewOf(sql, filter);
  return few === null ? indexSource(filter) : memorySource(few);
}

export interface Member {
  id: string;
  key: string;
  rule: number;
  phase: number;
  pending: boolean;
  held: boolean;
}

/**
 * The schedules of the filter by rule, phase and key; null if they are many. A rule alone is read from the
 * index by rule.
 */
export async function fewOf(sql: Sql, filter: AgendaFilter): Promise<Member[] | null> {
  const { rule: _, ...names } = filter;
  if (Object.values(names).every((each) => each === undefined)) return null;
  const range = keysBehind(undefined, filter.prefix);
  if (range === null) return [];
  const access = await accessFor(sql, filter);
  const rows = await byIndex(
    sql,
    (tx) => tx<FewRow[]>`
    with looked as materialized (${walked(tx, access, range, fewMax + 1)}),
    found as (select s.* from looked s where s.rule is not null and ${isMeant(tx, filter)})
    select e.looked, s.id, s.key, s.rule, s.phase, s.lagged or s.held_since is not null as pending, s.held_since is not null as held
    from (select count(*)::int as looked from looked) e left join found s on e.looked <= ${fewMax}
    order by s.rule, s.phase, s.key`,
  );
  if ((rows[0]?.looked ?? 0) > fewMax) return null;
  return rows.flatMap(({ id, key, rule, phase, pending, held }) =>
    id === null
      ? []
      : [
          {
            id,
            key,
            rule: Number(rule),
            phase: Number(phase),
            pending: pending === true,
            held: held === true,
          },
        ],
  );
}

interface FewRow {
  looked: number;
  id: string | null;
  key: string;
  rule: string;
  phase: string;
  pending: boolean | null;
  held: boolean | null;
}

const isAmong = (among: Among) => (member: Member) => among === "all" || member[among];

function memorySource(members: readonly Member[]): Source {
  const byRule = Map.groupBy(members, ({ rule }) => rule);
  return {
    rules: (sql, among) => {
      const meant = [...byRule].filter(([, of]) => of.some(isAmong(among)));
      return rulesOf(
        sql,
        meant.map(([rule]) => rule),
      );
    },
    look: async (_, slices, { after, most, among }) => {
      const isLooked = isAmong(among);
      const found = slices
        .flatMap(({ rule, base, low, high }) =>
          (byRule.get(rule) ?? [])
            .filter((member) => member.phase >= low && member.phase < high && isLooked(member))
            .map(({ id, key, phase }) => ({ at: base + phase, id, key })),
        )
        .filter((each) => after === null || inOrder(each, after) > 0)
        .sort(inOrder);
      const last = found.length > most ? (found[most - 1] ?? null) : null;
      return { found: found.slice(0, most), last };
    },
  };
}

/** Keys are compared byte by byte, as in the database. */
export function inOrder(a: CandidatePlace, b: CandidatePlace): number {
  return a.at - b.at || Buffer.compare(Buffer.from(a.key), Buffer.from(b.key));
}

/** Sorts before every character that a key may have. */
const lowestCharacter = "\u0001";

function indexSource(filter: AgendaFilter): Source {
  const { prefix = "", rule } = filter;
  return {
    rules: (sql, among) => {
      if (rule !== undefined) return rulesOf(sql, [rule]);
      return among === "all" ? allRules(sql, filter.prefix) : pendingRules(sql, filter.prefix);
    },
    look: async (sql, slices, { after, most, among }) => {
      const lowKeys = slices.map((slice) => {
        if (after === null || startOf(slice) !== after.at) return prefix;
        const behind = `${after.key}${lowestCharacter}`;
        return Buffer.compare(Buffer.from(behind), Buffer.from(prefix)) > 0 ? behind : prefix;
      });
      const rows = await byIndex(
        sql,
        (tx) => tx<{ at: string; id: string; key: string; fit: boolean }[]>`
        select l.at, s.id, s.key, ${among === "held" ? tx`s.held_since is not null and` : tx``} ${isMeant(tx, filter)} as fit
        from (
          select u.base + s.phase as at, s.id, s.key
          from unnest(${slices.map(({ rule }) => rule)}::bigint[], ${slices.map(({ base }) => base)}::bigint[], ${slices.map(({ low }) => low)}::bigint[],
            ${slices.map(({ high }) => high - 1)}::bigint[], ${lowKeys}::text[]) u (rule, base, low, top, low_key)
          cross join lateral (
            select s.id, s.key, s.phase from carillon.schedules s
            where ${inIndex(tx, among === "all" ? "all" : "pending")} and ${inRange(tx, { prefix, lowKey: tx`u.low_key` })}
            order by s.rule, s.phase, s.key limit ${most}) s
          order by 1, 3 limit ${most}) l
        cross join lateral (select * from carillon.schedules s where s.id = l.id offset 0) s
        order by 1, 3`,
      );
      const places = rows.map(({ at, id, key, fit }) => ({ at: Number(at), id, key, fit }));
      return {
        found: places.flatMap(({ fit, ...candidate }) => (fit ? [candidate] : [])),
        last: rows.length === most ? (places.at(-1) ?? null) : null,
      };
    },
  };
}
