import type postgres from "postgres";
import type { Tx } from "../../db/connect.ts";
import { never } from "../../db/readable-instants.ts";
import { isReadable, type PassedRow, setPassedAside } from "../../plan/aside.ts";
import type { ShardState } from "../../plan/shard.ts";
import type { SetAside } from "../../quarantine/quarantine.ts";
import { beyondWatermark, type FailedCadence, type LookedAhead, type Place } from "./look-ahead.ts";

/**
 * Sets aside rows that a batch could not unfold, in the transaction that raises the watermark past
 * them. Only rows that would have fired count: of the current version, and not under a hold. A
 * deleted schedule needs no quarantine entry.
 */
export async function setRowsAside(
  tx: Tx,
  state: ShardState,
  { failed, last }: Pick<LookedAhead, "failed" | "last">,
): Promise<SetAside[]> {
  if (failed.cadences.length === 0 && failed.rows.length === 0) return [];
  return setPassedAside(tx, [...(await rowsOf(tx, state, failed.cadences, last)), ...failed.rows]);
}

/** The rows of cadences that have failed. */
async function rowsOf(tx: Tx, state: ShardState, cadences: readonly FailedCadence[], last: Place) {
  if (cadences.length === 0) return [];
  const ids = cadences.map(({ cadenceId }) => cadenceId);
  const rows = await liveRows(
    tx,
    state,
    tx`select * from carillon.plan where ${beyondWatermark(tx, state, last)} and governed is null and cadence_id = any(${ids}::int[])`,
  );
  return rows.flatMap((row) => {
    const failed = cadences.find(
      ({ cadenceId, rows: which }) =>
        cadenceId === row.cadenceId && (which === "all" || !isReadable(row.occurrence)),
    );
    return failed === undefined ? [] : [{ row, error: failed.error }];
  });
}

/** Sets aside all rows from the watermark up to `last`: a batch could not write them. */
export function setAllAside(tx: Tx, state: ShardState, last: Place, error: unknown): Promise<SetAside[]> {
  return setSourceAside(
    tx,
    state,
    tx`select * from carillon.plan where ${beyondWatermark(tx, state, last)}`,
    error,
  );
}

/**
 * Sets aside those of the plan rows that would fire. `far` names rows that may still be in the far
 * table.
 */
export async function setSourceAside(
  tx: Tx,
  state: ShardState,
  source: postgres.PendingQuery<postgres.Row[]>,
  error: unknown,
  far?: string,
): Promise<SetAside[]> {
  const rows = await liveRows(tx, state, source);
  return setPassedAside(
    tx,
    rows.map((row) => ({ row: far === undefined ? row : { ...row, far }, error })),
  );
}

/**
 * A far row may be due at any instant, even one long past or outside the range of Date: it then
 * counts as due now.
 */
function liveRows(
  tx: Tx,
  { watermarkAt, now }: ShardState,
  source: postgres.PendingQuery<postgres.Row[]>,
): PromiseLike<(PassedRow & { cadenceId: number | null })[]> {
  return tx<(PassedRow & { cadenceId: number | null })[]>`
    select p.schedule_id as "scheduleId", p.version, p.occurrence, p.cadence_id as "cadenceId",
      case when p.due_at >= ${watermarkAt} and p.due_at < ${never(tx)} then p.due_at else ${now} end as "dueAt",
      case when p.governed and live.held_until = p.due_at then live.held_since end as "heldSince"
    from (${source}) p cross join lateral (
      select s.held_since, s.held_until from carillon.schedules s
      where s.id = p.schedule_id and s.version = p.version and coalesce(s.deleted_at, 'infinity') = 'infinity'
        and (s.held_since is null or s.held_until <= p.due_at)
      offset 0) live
    order by p.schedule_id, p.due_at`;
}
