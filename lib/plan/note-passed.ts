import type { Tx } from "../db/connect.ts";
import type { StoredSchedule } from "../schedule/stored-schedule.ts";
import { attachMissingDays } from "./attach-days.ts";
import type { Passed, PassedRange } from "./instants.ts";
import type { ShardState } from "./shard.ts";

/** Occurrences of one schedule that were passed over, one by one, each with its row among the jobs. */
export async function noteSkipped(
  tx: Tx,
  state: ShardState,
  { id, version, shard }: Pick<StoredSchedule, "id" | "version" | "shard">,
  passed: readonly Passed[],
  notedAt: Date,
): Promise<void> {
  if (passed.length === 0) return;
  await attachMissingDays(tx, passed, state);
  const dates = (values: readonly number[]) => tx.array(values.map((value) => new Date(value)));
  await tx`
    insert into carillon.jobs (occurrence, schedule_id, due_at, version, state, reason, finished_at, shard)
    select p.at, ${id}, p.due_at, ${version}, 'skipped', p.reason, ${notedAt}, ${shard}::smallint
    from unnest(${dates(passed.map(({ at }) => at))}::timestamptz[], ${dates(passed.map(({ due }) => due))}::timestamptz[],
      ${passed.map(({ reason }) => reason)}::text[]) p (at, due_at, reason)
    on conflict do nothing`;
}

/** The same as ranges, in the ledger. */
export async function noteRanges(
  tx: Tx,
  { id, shard }: Pick<StoredSchedule, "id" | "shard">,
  ranges: readonly PassedRange[],
  notedAt: Date,
): Promise<void> {
  if (ranges.length === 0) return;
  const dates = (values: readonly number[]) => tx.array(values.map((value) => new Date(value)));
  await tx`
    insert into carillon.passed_over (schedule_id, from_at, to_at, count, more, reason, noted_at, shard)
    select ${id}, r.from_at, r.to_at, r.count, r.more, r.reason, ${notedAt}, ${shard}::smallint
    from unnest(${dates(ranges.map(({ from }) => from))}::timestamptz[], ${dates(ranges.map(({ to }) => to))}::timestamptz[],
      ${ranges.map(({ count }) => count)}::bigint[], ${tx.array(ranges.map(({ more }) => more))}::boolean[],
      ${ranges.map(({ reason }) => reason)}::text[]) r (from_at, to_at, count, more, reason)`;
}

export const rangesOf = (passed: readonly Passed[]): PassedRange[] =>
  passed.map(({ at, reason }) => ({ from: at, to: at, count: 1, more: false, reason }));
