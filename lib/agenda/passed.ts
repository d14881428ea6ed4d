import type { Sql, Tx } from "../db/connect.ts";
import { fits } from "../schedule/filter-schedules.ts";
import { byIndex } from "./by-index.ts";
import type { Part } from "./merge.ts";
import type { AgendaFilter, AgendaRow, Window } from "./window.ts";

/** How many ranges that end at or after an occurrence are searched for one that has it. */
const rangesMax = 20;

/**
 * Why occurrences have no job, by schedule and instant: the reason of the range that has it, or
 * `backlog`.
 */
export async function passedAt(
  tx: Tx,
  rows: readonly Pick<AgendaRow, "scheduleId" | "occurrence">[],
): Promise<Map<string, string>> {
  const found = await tx<{ id: string; at: Date; reason: string }[]>`
    select k.id, k.at, coalesce(r.reason, case when b.found then 'backlog' end) as reason
    from unnest(${rows.map(({ scheduleId }) => scheduleId)}::bigint[], ${tx.array(rows.map(({ occurrence }) => occurrence))}::timestamptz[]) k (id, at)
    left join lateral (
      select l.reason from (
        select from_at, reason, to_at from carillon.passed_over where schedule_id = k.id and to_at >= k.at order by to_at limit ${rangesMax}) l
      where l.from_at <= k.at order by l.to_at limit 1) r on true
    left join lateral (
      select true as found from carillon.backlog o
      where o.schedule_id = k.id and o.next_occurrence <= k.at and o.kind = 'cadence' and k.at = any(o.occurrences[o.taken + 1 :]) limit 1) b on true
    where r.reason is not null or b.found`;
  return new Map(found.map(({ id, at, reason }) => [`${id}-${at.getTime()}`, reason]));
}

/** How many ranges each statement of a page looks at. */
const steps = [500, 2_000, 7_500];

interface RangePlace {
  to: number;
  id: string;
  from: number;
}

export const rangePlaceText = ({ to, id, from }: RangePlace): string => `${to}-${id}-${from}`;

/** Null for a text that is no place. */
export function readRangePlace(text: string): RangePlace | null {
  const [, to, id, from] = /^(\d{1,15})-(\d{1,18})-(-?\d{1,15})$/.exec(text) ?? [];
  return to === undefined || id === undefined || from === undefined
    ? null
    : { to: Number(to), id, from: Number(from) };
}

/**
 * The ranges of passed-over occurrences that have one in the window, in the order of their ends. A
 * range that reaches beyond the window comes after all others.
 */
export async function rangesIn(
  sql: Sql,
  { from, to }: Window,
  filter: AgendaFilter,
  { after, limit }: { after: RangePlace | null; limit: number },
): Promise<Part<AgendaRow>> {
  const rows: Part<AgendaRow>["rows"] = [];
  let place = after;
  for (const looked of steps) {
    const page = await lookAt(sql, { from, to }, filter, { place, looked });
    for (const row of page) {
      place = { to: row.to.getTime(), id: row.id, from: row.from.getTime() };
      if (row.fit) rows.push({ row: rowOf(row), at: place.to, place: rangePlaceText(place) });
      if (rows.length === limit) return { rows, last: { at: place.to, place: rangePlaceText(place) } };
    }
    if (page.length < looked || place === null) return { rows, last: null };
  }
  return { rows, last: place === null ? null : { at: place.to, place: rangePlaceText(place) } };
}

function lookAt(
  sql: Sql,
  { from, to }: Window,
  filter: AgendaFilter,
  { place, looked }: { place: RangePlace | null; looked: number },
): Promise<readonly RangeRow[]> {
  return byIndex(sql, (tx) => {
    const behind =
      place === null
        ? tx`to_at >= ${new Date(from)}`
        : tx`(to_at, schedule_id, from_at) > (${new Date(place.to)}::timestamptz, ${place.id}::bigint, ${new Date(place.from)}::timestamptz)`;
    return tx<RangeRow[]>`
      select p.*, s.key, ${fits(tx, filter)} as fit
      from (
        select schedule_id as id, from_at as "from", to_at as "to", case reason when 'unreadable' then null else count::float8 end as count, more, reason
        from carillon.passed_over where ${behind} and from_at < ${new Date(to)}
        order by to_at, schedule_id, from_at limit ${looked}) p
      cross join lateral (select * from carillon.schedules s where s.id = p.id offset 0) s
      order by p.to, p.id, p.from`;
  });
}

interface RangeRow {
  id: string;
  key: string;
  from: Date;
  to: Date;
  count: number | null;
  more: boolean;
  reason: string;
  fit: boolean;
}

function rowOf({ id, key, from, to, count, more, reason }: RangeRow): AgendaRow {
  return {
    occurrence: to,
    dueAt: null,
    key,
    scheduleId: id,
    kind: "cadence",
    outcome: "skipped",
    reason,
    job: null,
    passedOver: { from, to, count, more },
  };
}
