import type { Tx } from "../db/connect.ts";

/**
 * Number of shards that the migrations make. A schedule's shard is stored with it, so this may
 * change for new schedules.
 */
export const shardCount = 16;

/**
 * The horizon. An EventBridge rule fires somewhere within its minute, so two ticks may be 119 s
 * apart, and occurrences due before the next tick must already be jobs.
 */
export const horizonMs = 180_000;

/** An occurrence planned later than this after its due time is missed; a younger one runs, late. */
export const missedAfterMs = 120_000;

/** The schedule part of a watermark that lies behind every schedule due at its instant. */
export const greatestSchedule = "9223372036854775807";

export function shardOf(scheduleId: string): number {
  return Number(BigInt(scheduleId) % BigInt(shardCount));
}

/** The watermark of a shard and the database's clock, read under the plan lock. */
export interface ShardState {
  shard: number;
  watermarkAt: Date;
  watermarkSchedule: string;
  reachedAt: Date;
  nearUntil: Date;
  now: Date;
}

export async function readShard(tx: Tx, shard: number): Promise<ShardState> {
  const [row] = await tx<Omit<ShardState, "shard">[]>`
    select watermark_at as "watermarkAt", watermark_schedule as "watermarkSchedule", reached_at as "reachedAt",
      near_until as "nearUntil", carillon.clock() as now
    from carillon.shards where id = ${shard}`;
  if (row === undefined) throw new Error(`Shard ${shard} does not exist in carillon.shards.`);
  return { shard, ...row };
}

/**
 * The state of every shard at one moment, so that a transaction over several shards has one cut.
 * The clock is read once, before the rows. If it were read with each row, it could pass an
 * occurrence between two of them: the edit would withdraw the job as due after the first shard's
 * cut, and plan the new version from after the other shard's cut.
 */
export async function readShards(tx: Tx): Promise<Map<number, ShardState>> {
  const rows = await tx<ShardState[]>`
    with clock as materialized (select carillon.clock() as now)
    select s.id as shard, s.watermark_at as "watermarkAt", s.watermark_schedule as "watermarkSchedule", s.reached_at as "reachedAt",
      s.near_until as "nearUntil", c.now
    from clock c cross join carillon.shards s`;
  return new Map(rows.map((row) => [row.shard, row]));
}

/**
 * The last due instant of this schedule that has become jobs: the watermark is a pair (due,
 * schedule).
 */
export function plannedUpTo(state: ShardState, scheduleId: string): Date {
  if (BigInt(scheduleId) <= BigInt(state.watermarkSchedule)) return state.watermarkAt;
  return new Date(state.watermarkAt.getTime() - 1);
}

/** The moment at which all states were read. */
export function cutOf(states: ReadonlyMap<number, ShardState>): Date {
  const [first] = states.values();
  if (first === undefined) throw new Error("There are no shards.");
  return first.now;
}

export function stateOf(states: ReadonlyMap<number, ShardState>, shard: number): ShardState {
  const state = states.get(shard);
  if (state === undefined) throw new Error(`Shard ${shard} does not exist in carillon.shards.`);
  return state;
}
