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
    const { crons, size } = await lookAhead(tx, state, horizon, rowsMax(state, batchMax));
    const fired = await fire(tx, {
      source: tx`select due_at, occurrence, schedule_id, every_ms, version, cadence_id, ${horizon}::timestamptz as bound
        from (${nextRows(tx, state, horizon, size)}) rows`,
      shard,
      now: state.now,
      nearUntil: state.nearUntil,
      crons,
      reason: "missed",
    });
    const done = fired.taken < size;
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

const longLagMs = 3_600_000;
const laggingRowsMax = 500;

/** After hours without a tick each cron has thousands of missed occurrences to be counted, and its shard is locked meanwhile. */
function rowsMax({ now, watermarkAt }: ShardState, batchMax: number): number {
  return now.getTime() - watermarkAt.getTime() > longLagMs ? Math.min(batchMax, laggingRowsMax) : batchMax;
}

/** One statement makes about so many jobs at most: a short interval has many within the horizon, and the shard's edits wait. */
const jobsMax = 25_000;

interface Look {
  rows: number;
  /** Jobs of intervals and one-offs, as far as arithmetic tells. */
  jobs: number;
  cadenceId: number | null;
  planned: Date | null;
  expression: string | null;
  timezone: string | null;
}

/**
 * Looks at the plan rows of the coming batch alone: unfolds each distinct (cadence, occurrence) once, and makes the
 * batch smaller where its rows would become too many jobs.
 */
async function lookAhead(
  tx: Tx,
  state: ShardState,
  horizon: Date,
  batchMax: number,
): Promise<{ crons: UnfoldedCron[]; size: number }> {
  const missedBefore = new Date(state.now.getTime() - missedAfterMs);
  const looks = await tx<Look[]>`
    select d.rows, d.jobs, d.planned, c.id as "cadenceId", c.expression, c.timezone
    from (
      select cadence_id, case when cadence_id is not null then occurrence end as planned, count(*)::int as rows,
        sum(case when every_ms is null or due_at + every_ms * interval '1 millisecond' > ${horizon} then 1
          else 1 + floor(extract(epoch from ${horizon}::timestamptz - greatest(due_at, ${missedBefore}::timestamptz)) * 1000 / every_ms) end)::float8 as jobs
      from (${nextRows(tx, state, horizon, batchMax)}) rows group by 1, 2
    ) d left join carillon.cadences c on c.id = d.cadence_id`;
  let rows = 0;
  let jobs = 0;
  const crons: UnfoldedCron[] = [];
  for (const look of looks) {
    const cron = unfoldCron(look, horizon, missedBefore);
    if (cron !== null) crons.push(cron);
    rows += look.rows;
    jobs += cron === null ? look.jobs : look.rows * (cron.runs.length + cron.passed.length);
  }
  return { crons, size: jobs <= jobsMax ? batchMax : Math.max(1, Math.floor((rows * jobsMax) / jobs)) };
}

function unfoldCron(
  { cadenceId, planned, expression, timezone }: Look,
  horizon: Date,
  missedBefore: Date,
): UnfoldedCron | null {
  if (cadenceId === null || planned === null || expression === null || timezone === null) return null;
  const cadence = { kind: "cron", expression, timezone } as const;
  return {
    cadenceId,
    planned,
    ...unfold(cadence, planned.getTime(), horizon.getTime(), missedBefore.getTime()),
  };
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
