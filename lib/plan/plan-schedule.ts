import type { Cadence } from "../cadence/cadence.ts";
import type { Tx } from "../db/connect.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import { type Fired, fire } from "./fire.ts";
import { unfold } from "./instants.ts";
import { missedAfterMs, plannedUpTo, type ShardState } from "./shard.ts";

/** A schedule in one version, as planning sees it. */
export interface Planned {
  id: string;
  version: number;
  cadence: Cadence;
  cadenceId: number | null;
}

const dayMs = 86_400_000;

/**
 * Plans a schedule from one occurrence on. What is at or below the shard's watermark becomes jobs and parcels at once, by
 * the same statement as in the tick; the first beyond becomes a plan row.
 */
export async function planFrom(
  tx: Tx,
  state: ShardState,
  planned: Planned,
  first: number | null,
  reason: "missed" | "paused",
): Promise<OutgoingParcel[]> {
  if (first === null) return [];
  const bound = plannedUpTo(state, planned.id);
  if (first > bound.getTime()) {
    await insertPlanRow(tx, state, planned, new Date(first));
    return [];
  }
  return (await firePlanned(tx, state, planned, first, bound, reason)).parcels;
}

/** Makes the jobs of one schedule from an occurrence up to a bound, and its plan row beyond. */
export async function firePlanned(
  tx: Tx,
  state: ShardState,
  { id, version, cadence, cadenceId }: Planned,
  first: number,
  bound: Date,
  reason: "missed" | "paused",
): Promise<Fired> {
  const unfolded = unfold(cadence, first, bound.getTime(), state.now.getTime() - missedAfterMs);
  await attachMissingDays(tx, [...unfolded.runs, ...unfolded.passed], state);
  const planned = new Date(first);
  return fire(tx, {
    source: tx`
      select ${planned}::timestamptz as due_at, ${planned}::timestamptz as occurrence, ${id}::bigint as schedule_id,
        ${everyMs(cadence)}::bigint as every_ms, ${version}::int as version, ${cadenceId}::int as cadence_id, ${bound}::timestamptz as bound`,
    shard: state.shard,
    now: state.now,
    nearUntil: state.nearUntil,
    crons: cadenceId === null ? [] : [{ cadenceId, planned, ...unfolded }],
    reason,
  });
}

/**
 * The occurrence from which no tick has planned this version yet, if it is due by now. Its plan row tells: the watermark
 * may stand where the version had not begun, or where a batch has already unfolded it to the horizon.
 */
export async function pendingOccurrence(
  tx: Tx,
  { shard, watermarkAt, watermarkSchedule, now }: ShardState,
  { id, version }: Pick<Planned, "id" | "version">,
): Promise<number | null> {
  const [row] = await tx<{ occurrence: Date | null }[]>`
    select min(occurrence) as occurrence from (
      select occurrence from carillon.plan
      where shard = ${shard} and (due_at, schedule_id) > (${watermarkAt}, ${watermarkSchedule}::bigint)
        and due_at >= ${watermarkAt} and due_at <= ${now} and schedule_id = ${id} and version = ${version}
      union all
      select occurrence from carillon.plan_far
      where shard = ${shard} and due_at <= ${now} and schedule_id = ${id} and version = ${version}) pending`;
  return row?.occurrence?.getTime() ?? null;
}

async function insertPlanRow(
  tx: Tx,
  state: ShardState,
  { id, version, cadence, cadenceId }: Planned,
  due: Date,
): Promise<void> {
  const row = tx`(due_at, occurrence, schedule_id, every_ms, version, cadence_id, shard)
    values (${due}, ${due}, ${id}, ${everyMs(cadence)}, ${version}, ${cadenceId}, ${state.shard})`;
  if (due < state.nearUntil) await tx`insert into carillon.plan ${row}`;
  else await tx`insert into carillon.plan_far ${row}`;
}

function everyMs(cadence: Cadence): number | null {
  return cadence.kind === "interval" ? cadence.everyMs : null;
}

/**
 * A long pause may end with an occurrence of a day that has no partition (any more), and without a tick for days the recent
 * ones have none yet. Those between, from yesterday to where the near plan ends, the tick has attached.
 */
async function attachMissingDays(tx: Tx, instants: readonly number[], state: ShardState): Promise<void> {
  const yesterday = Math.floor(state.now.getTime() / dayMs) - 1;
  const days = new Set(instants.map((at) => Math.floor(at / dayMs)));
  for (const day of days) {
    if (day >= yesterday && day * dayMs < state.nearUntil.getTime()) continue;
    const date = new Date(day * dayMs).toISOString().slice(0, 10);
    await tx`select carillon.attach_days(${date}::date, ${date}::date)`;
  }
}
