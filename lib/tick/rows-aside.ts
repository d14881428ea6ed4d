import type postgres from "postgres";
import type { Tx } from "../db/connect.ts";
import { type PassedRow, setPassedAside } from "../plan/aside.ts";
import type { ShardState } from "../plan/shard.ts";
import type { SetAside } from "../quarantine/quarantine.ts";
import { beyondWatermark, type LookedAhead, type Place } from "./look-ahead.ts";

/**
 * Sets aside what a batch could not unfold, in the transaction that raises the watermark past it. Only rows that would have fired: of the
 * version in force, and under no hold. A schedule that is deleted needs no place in quarantine.
 */
export async function setRowsAside(
  tx: Tx,
  state: ShardState,
  { failed, last }: Pick<LookedAhead, "failed" | "last">,
): Promise<SetAside[]> {
  if (failed.cadences.length === 0 && failed.rows.length === 0) return [];
  const errors = new Map(failed.cadences.map(({ cadenceId, error }) => [cadenceId, error]));
  const shared =
    errors.size === 0
      ? []
      : await liveRows(
          tx,
          tx`${beyondWatermark(tx, state, last)} and governed is null and cadence_id = any(${[...errors.keys()]}::int[])`,
        );
  return setPassedAside(tx, [
    ...shared.map((row) => ({ row, error: errors.get(row.cadenceId ?? 0) })),
    ...failed.rows,
  ]);
}

/** Everything up to a place, which cannot be written whatever it is. */
export async function setAllAside(
  tx: Tx,
  state: ShardState,
  last: Place,
  error: unknown,
): Promise<SetAside[]> {
  const rows = await liveRows(tx, beyondWatermark(tx, state, last));
  return setPassedAside(
    tx,
    rows.map((row) => ({ row, error })),
  );
}

function liveRows(
  tx: Tx,
  condition: postgres.PendingQuery<postgres.Row[]>,
): PromiseLike<(PassedRow & { cadenceId: number | null })[]> {
  return tx<(PassedRow & { cadenceId: number | null })[]>`
    select p.schedule_id as "scheduleId", p.version, p.occurrence, p.due_at as "dueAt", p.cadence_id as "cadenceId",
      case when p.governed and live.held_until = p.due_at then live.held_since end as "heldSince"
    from (select * from carillon.plan where ${condition}) p cross join lateral (
      select s.held_since, s.held_until from carillon.schedules s
      where s.id = p.schedule_id and s.version = p.version and coalesce(s.deleted_at, 'infinity') = 'infinity'
        and (s.held_since is null or s.held_until <= p.due_at)
      offset 0) live
    order by p.schedule_id, p.due_at`;
}
