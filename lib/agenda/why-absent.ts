import type { Tx } from "../db/connect.ts";
import type { AgendaRow } from "./window.ts";

/** How many ranges that end at or after an occurrence are searched for one that has it. */
const rangesMax = 20;

/**
 * Why occurrences have no job, by schedule and instant: the reason of the range that has it, or
 * `backlog`.
 */
export async function whyAbsent(
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
