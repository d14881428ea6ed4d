import type { Tx } from "../db/connect.ts";

/** How many shards the migrations make. A schedule's shard is stored with it, so this may change for new schedules. */
export const shardCount = 16;

/** The horizon: a rule fires somewhere within its minute, so two ticks may lie 119 s apart; what is due until the next one must be a job already. */
export const horizonMs = 180_000;

/** An occurrence that is planned later than this after it was due is missed; younger ones all run, late. */
export const missedAfterMs = 120_000;

/** Stands in a watermark behind every schedule that is due at its instant. */
export const greatestSchedule = "9223372036854775807";

export function shardOf(scheduleId: string): number {
  return Number(BigInt(scheduleId) % BigInt(shardCount));
}

/** Where a shard stands, and the database's clock, read after the plan lock is held. */
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
 * Where every shard stands, all at one moment: a transaction that changes schedules of several shards has one cut for all. The clock is read
 * once, before the rows: read with each row, it could pass an occurrence between two of them. The edit would then withdraw the job as due
 * after the first shard's cut, and the new version would be planned from after the other shard's.
 */
export async function readShards(tx: Tx): Promise<Map<number, ShardState>> {
  const rows = await tx<ShardState[]>`
    with clock as materialized (select carillon.clock() as now)
    select s.id as shard, s.watermark_at as "watermarkAt", s.watermark_schedule as "watermarkSchedule", s.reached_at as "reachedAt",
      s.near_until as "nearUntil", c.now
    from clock c cross join carillon.shards s`;
  return new Map(rows.map((row) => [row.shard, row]));
}

/** The last due instant that has become jobs for this one schedule: the watermark is a pair (due, schedule). */
export function plannedUpTo(state: ShardState, scheduleId: string): Date {
  if (BigInt(scheduleId) <= BigInt(state.watermarkSchedule)) return state.watermarkAt;
  return new Date(state.watermarkAt.getTime() - 1);
}

/** The moment at which all of them were read. */
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
