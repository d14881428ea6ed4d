import type { Tx } from "../db/connect.ts";
import type { StoredSchedule } from "../schedule/stored/stored-schedule.ts";
import { attachMissingDays } from "./attach-days.ts";
import type { Passed, PassedRange } from "./instants.ts";
import type { ShardState } from "./shard.ts";

/** Occurrences that a schedule has passed over, and when they are noted. */
export interface PassedOver {
  schedule: Pick<StoredSchedule, "id" | "version" | "shard">;
  passed: readonly Passed[];
  ranges: readonly PassedRange[];
  notedAt: Date;
}

/** Notes passed-over occurrences one by one, each as a skipped job. */
export async function noteSkipped(
  tx: Tx,
  state: ShardState,
  each: readonly Omit<PassedOver, "ranges">[],
): Promise<void> {
  const rows = each.flatMap(({ schedule, passed, notedAt }) =>
    passed.map((occurrence) => ({ ...schedule, ...occurrence, notedAt })),
  );
  if (rows.length === 0) return;
  await attachMissingDays(tx, rows, state);
  const dates = (values: readonly number[]) => tx.array(values.map((value) => new Date(value)));
  await tx`
    insert into carillon.jobs (occurrence, schedule_id, due_at, version, state, reason, finished_at, shard)
    select p.at, p.id, p.due_at, p.version, 'skipped', p.reason, p.noted_at, p.shard
    from unnest(${dates(rows.map(({ at }) => at))}::timestamptz[], ${rows.map(({ id }) => id)}::bigint[],
      ${dates(rows.map(({ due }) => due))}::timestamptz[], ${rows.map(({ version }) => version)}::int[],
      ${rows.map(({ reason }) => reason)}::text[], ${tx.array(rows.map(({ notedAt }) => notedAt))}::timestamptz[],
      ${rows.map(({ shard }) => shard)}::smallint[]) p (at, id, due_at, version, reason, noted_at, shard)
    on conflict do nothing`;
}

/**
 * A range in the ledger. The count of an unreadable cadence is unknown. `moved`: another
 * installation had the schedule then.
 */
type NotedRange =
  | (Omit<PassedRange, "reason"> & { reason: PassedRange["reason"] | "moved" })
  | (Omit<PassedRange, "reason" | "count"> & { reason: "unreadable"; count: null });

/** The column `count` is not null. Readers tell from the reason that the count is unknown. */
const placeholder = 1;

/** Notes passed-over occurrences as ranges in the ledger. */
export async function noteRanges(
  tx: Tx,
  each: readonly {
    schedule: Pick<StoredSchedule, "id" | "shard">;
    ranges: readonly NotedRange[];
    notedAt: Date;
  }[],
): Promise<void> {
  const rows = each.flatMap(({ schedule: { id, shard }, ranges, notedAt }) =>
    ranges.map((range) => ({ id, shard, ...range, notedAt })),
  );
  if (rows.length === 0) return;
  const dates = (values: readonly number[]) => tx.array(values.map((value) => new Date(value)));
  await tx`
    insert into carillon.passed_over (schedule_id, from_at, to_at, count, more, reason, noted_at, shard)
    select * from unnest(${rows.map(({ id }) => id)}::bigint[], ${dates(rows.map(({ from }) => from))}::timestamptz[],
      ${dates(rows.map(({ to }) => to))}::timestamptz[], ${rows.map(({ count }) => count ?? placeholder)}::bigint[],
      ${tx.array(rows.map(({ more }) => more))}::boolean[], ${rows.map(({ reason }) => reason)}::text[],
      ${tx.array(rows.map(({ notedAt }) => notedAt))}::timestamptz[], ${rows.map(({ shard }) => shard)}::smallint[])`;
}

export const rangesOf = (passed: readonly Passed[]): PassedRange[] =>
  passed.map(({ at, reason }) => ({ from: at, to: at, count: 1, more: false, reason }));
