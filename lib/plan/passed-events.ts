import type postgres from "postgres";
import type { Tx } from "../db/connect.ts";

type Query = postgres.PendingQuery<postgres.Row[]>;

/**
 * Writes events for occurrences that a statement passes over, one per schedule and reason. `passed`
 * is a query of schedule_id, reason, from_at, to_at, count, more. Whether such events are enabled
 * is read only if there are rows.
 */
export function passedEvents(tx: Tx, passed: Query): Query {
  return tx`
    passed_told as (
      insert into carillon.outbox (event, occurrence, schedule_id, kind, n, attempt, at, offer_at, detail)
      select case p.reason when 'missed' then 'missed' else 'skipped' end, min(p.from_at), p.schedule_id, 'cadence', 0, 0, (select carillon.clock()), (select carillon.clock()),
        jsonb_build_object('reason', p.reason, 'from', min(p.from_at), 'to', max(p.to_at), 'count', case when count(*) = count(p.count) then sum(p.count) end, 'more', bool_or(p.more))
      from (${passed}) p
      where case p.reason when 'missed' then (select carillon.tells('missed')) else (select carillon.tells('skipped')) end
      group by p.schedule_id, p.reason
    )`;
}

export interface PassedRange {
  from: number;
  to: number;
  /** Null if unknown. */
  count: number | null;
  more: boolean;
  reason: string;
}

/** Writes the events for all occurrences that one transaction has passed over. */
export async function writePassedEvents(
  tx: Tx,
  passed: readonly (PassedRange & { scheduleId: string })[],
): Promise<void> {
  if (passed.length === 0) return;
  const dates = (of: (each: PassedRange) => number) => tx.array(passed.map((each) => new Date(of(each))));
  const rows = tx`
    select * from unnest(${passed.map(({ scheduleId }) => scheduleId)}::bigint[], ${dates(({ from }) => from)}::timestamptz[],
      ${dates(({ to }) => to)}::timestamptz[], ${passed.map(({ count }) => count)}::bigint[],
      ${tx.array(passed.map(({ more }) => more))}::boolean[], ${passed.map(({ reason }) => reason)}::text[])
      r (schedule_id, from_at, to_at, count, more, reason)`;
  await tx`with ${passedEvents(tx, rows)} select`;
}
