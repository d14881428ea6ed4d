import type { Sql, Tx } from "../db/connect.ts";
import { lockPlan } from "../db/locks.ts";
import { type Fired, fire, type UnfoldedCron } from "../plan/fire.ts";
import { unfold } from "../plan/instants.ts";
import { horizonMs, missedAfterMs, readShard, type ShardState } from "../plan/shard.ts";

export interface Batch extends Fired {
  /** True when the shard is planned up to the horizon. */
  done: boolean;
  shard: number;
}

const greatestSchedule = "9223372036854775807";

/**
 * One batch of one shard, in one transaction: plan lock, then the watermark and the clock, then the cron cadences, then
 * everything else in one statement, then the watermark. The lock is a statement of its own: read together with it, the
 * watermark would come from before the lock, and what another tick has just done would be done over or passed over.
 */
export function fireShardBatch(sql: Sql, shard: number, batchMax: number): Promise<Batch> {
  return sql.begin(async (tx) => {
    const [, state] = await Promise.all([lockPlan(tx, shard), readShard(tx, shard)]);
    // Never past the near plan: what is due beyond it may still wait in the far table, and the watermark would pass it over.
    const horizon = new Date(Math.min(state.now.getTime() + horizonMs, state.nearUntil.getTime() - 1));
    if (isReached(state, horizon))
      return { shard, taken: 0, lastDueAt: null, lastSchedule: null, jobs: 0, parcels: [], done: true };
    const crons = await unfoldCrons(tx, state, horizon, batchMax);
    const fired = await fire(tx, {
      source: tx`select due_at, occurrence, schedule_id, every_ms, version, cadence_id, ${horizon}::timestamptz as bound
        from (${nextRows(tx, state, horizon, batchMax)}) rows`,
      shard,
      now: state.now,
      nearUntil: state.nearUntil,
      crons,
      reason: "missed",
    });
    const done = fired.taken < batchMax;
    await raiseWatermark(
      tx,
      shard,
      done ? horizon : fired.lastDueAt,
      done ? greatestSchedule : fired.lastSchedule,
      horizon,
    );
    return { ...fired, shard, done };
  });
}

/** The watermark is a pair: a batch may have ended between two schedules that are due at the horizon itself. */
function isReached({ watermarkAt, watermarkSchedule }: ShardState, horizon: Date): boolean {
  return watermarkAt > horizon || (watermarkAt >= horizon && watermarkSchedule === greatestSchedule);
}

/**
 * The rows beyond the watermark up to the horizon, in order. `with ties`: two rows may share due and schedule (an edit's
 * old and new version), and a limit between them would let the watermark pass over the second.
 */
function nextRows(tx: Tx, state: ShardState, horizon: Date, batchMax: number) {
  return tx`
    select * from carillon.plan
    where shard = ${state.shard} and (due_at, schedule_id) > (${state.watermarkAt}, ${state.watermarkSchedule}::bigint)
      and due_at >= ${state.watermarkAt} and due_at <= ${horizon}
    order by due_at, schedule_id
    fetch first ${batchMax} rows with ties`;
}

interface DistinctCron {
  cadenceId: number;
  planned: Date;
  expression: string;
  timezone: string;
}

/** Cron instants, once per distinct (cadence, occurrence) of the batch, from the plan rows alone. */
async function unfoldCrons(
  tx: Tx,
  state: ShardState,
  horizon: Date,
  batchMax: number,
): Promise<UnfoldedCron[]> {
  const distinct = await tx<DistinctCron[]>`
    select c.id as "cadenceId", d.occurrence as planned, c.expression, c.timezone
    from (select distinct cadence_id, occurrence from (${nextRows(tx, state, horizon, batchMax)}) rows where cadence_id is not null) d
    join carillon.cadences c on c.id = d.cadence_id`;
  return distinct.map(({ cadenceId, planned, expression, timezone }) => ({
    cadenceId,
    planned,
    ...unfold(
      { kind: "cron", expression, timezone },
      planned.getTime(),
      horizon.getTime(),
      state.now.getTime() - missedAfterMs,
    ),
  }));
}

async function raiseWatermark(
  tx: Tx,
  shard: number,
  at: Date | null,
  schedule: string | null,
  reached: Date,
): Promise<void> {
  await tx`
    update carillon.shards
    set watermark_at = ${at}, watermark_schedule = ${schedule}, reached_at = greatest(reached_at, ${reached})
    where id = ${shard}`;
}
