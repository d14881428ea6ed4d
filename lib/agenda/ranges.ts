import { byIndex } from "../db/by-index.ts";
import type { Sql, Tx } from "../db/connect.ts";
import type { Part } from "./merge.ts";
import { isMeant } from "./rules.ts";
import { emptyIn } from "./spanning.ts";
import type { AgendaFilter, AgendaRow, Window } from "./window.ts";

/** How many ranges each statement of a page looks at. */
const steps = [500, 2_000, 7_500];

/** The end of a range, its schedule, and what tells it from other ranges of the schedule. */
interface RangePlace {
  to: number;
  id: string;
  mark: string;
}

export const rangePlaceText = ({ to, id, mark }: RangePlace): string => `${to}-${id}-${mark}`;

/** Null for a text that is no place. */
export function readRangePlace(text: string): RangePlace | null {
  const [, to, id, mark] = /^(\d{1,15})-(\d{1,18})-(-?\d{1,18})$/.exec(text) ?? [];
  return to === undefined || id === undefined || mark === undefined ? null : { to: Number(to), id, mark };
}

/**
 * `passed`: occurrences that were passed over together. `owed`: those that wait in the backlog
 * together.
 */
export type RangeKind = "passed" | "owed";

/**
 * The ranges of occurrences without jobs that have one in the window, in the order of their ends. A
 * range that reaches beyond the window comes after all others.
 */
export async function rangesIn(
  sql: Sql,
  kind: RangeKind,
  { window, filter }: { window: Window; filter: AgendaFilter },
  { after, limit }: { after: RangePlace | null; limit: number },
): Promise<Part<AgendaRow>> {
  const rows: Part<AgendaRow>["rows"] = [];
  let place = after;
  for (const looked of steps) {
    const page = await byIndex(
      sql,
      (tx) => tx<RangeRow[]>`
      select p.*, s.key, p.inside and ${isMeant(tx, filter)} as fit
      from (${columnsOf[kind](tx, window, { place, looked })}) p
      cross join lateral (select * from carillon.schedules s where s.id = p.id offset 0) s
      order by p.to, p.id, p.mark`,
    );
    const known = page.filter(({ fit, reason }) => fit && reason !== null && reason !== "unreadable");
    const empty = await emptyIn(sql, known, window);
    for (const row of page) {
      place = { to: row.to.getTime(), id: row.id, mark: row.mark };
      if (row.fit && !empty.has(row))
        rows.push({ row: rowOf(row), at: place.to, place: rangePlaceText(place) });
      if (rows.length === limit) return { rows, last: { at: place.to, place: rangePlaceText(place) } };
    }
    if (page.length < looked || place === null) return { rows, last: null };
  }
  return { rows, last: place === null ? null : { at: place.to, place: rangePlaceText(place) } };
}

interface RangeRow {
  id: string;
  mark: string;
  key: string;
  from: Date;
  to: Date;
  count: number | null;
  more: boolean;
  /** Null for occurrences in the backlog. */
  reason: string | null;
  fit: boolean;
}

type Columns = (tx: Tx, window: Window, page: { place: RangePlace | null; looked: number }) => ReturnType<Tx>;

const columnsOf: Record<RangeKind, Columns> = {
  passed: (tx, { from, to }, { place, looked }) => {
    const behind =
      place === null
        ? tx`to_at >= ${new Date(from)}`
        : tx`(to_at, schedule_id, from_at) > (${new Date(place.to)}::timestamptz, ${place.id}::bigint, ${new Date(Number(place.mark))}::timestamptz)`;
    return tx`
      select schedule_id as id, (extract(epoch from from_at) * 1000)::bigint as mark, from_at as "from", to_at as "to",
        case reason when 'unreadable' then null else count::float8 end as count, more, reason, true as inside
      from carillon.passed_over where ${behind} and from_at < ${new Date(to)}
      order by to_at, schedule_id, from_at limit ${looked}`;
  },
  owed: (tx, { from, to }, { place, looked }) => {
    const behind =
      place === null
        ? tx`last_occurrence >= ${new Date(from)}`
        : tx`(last_occurrence, schedule_id, id) > (${new Date(place.to)}::timestamptz, ${place.id}::bigint, ${place.mark}::bigint)`;
    const hasOneWithin = tx`exists (
      select from unnest(occurrences[taken + 1 :]) o (at) where o.at >= ${new Date(from)} and o.at < ${new Date(to)})`;
    return tx`
      select schedule_id as id, id as mark, next_occurrence as "from", last_occurrence as "to", owing::float8 as count, false as more, null as reason,
        next_occurrence < ${new Date(to)} and (next_occurrence >= ${new Date(from)} or last_occurrence < ${new Date(to)} or ${hasOneWithin}) as inside
      from carillon.backlog where kind = 'cadence' and ${behind}
      order by last_occurrence, schedule_id, id limit ${looked}`;
  },
};

function rowOf({ id, key, from, to, count, more, reason }: RangeRow): AgendaRow {
  return {
    occurrence: to,
    dueAt: null,
    key,
    scheduleId: id,
    kind: "cadence",
    outcome: reason === null ? "backlog" : "skipped",
    reason,
    job: null,
    passedOver: { from, to, count, more },
    note: null,
  };
}
