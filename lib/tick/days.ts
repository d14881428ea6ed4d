import type postgres from "postgres";
import type { Sql, Tx } from "../db/connect.ts";
import { lockPlan } from "../db/locks.ts";
import { horizonMs, readShard } from "../plan/shard.ts";

/** Partitions exist for so many days ahead; the near plan reaches to the end of the last of them. */
const daysAhead = 3;
const moveMax = 10_000;
const dayMs = 86_400_000;

/** Attaches the days that planning may need: from a day before the oldest watermark (due is up to a day after its occurrence) to a few days ahead. */
export async function attachDays(sql: Sql): Promise<void> {
  await sql`
    select carillon.attach_days(
      (least(min(watermark_at), carillon.clock()) at time zone 'UTC' - interval '1 day')::date,
      ((carillon.clock() at time zone 'UTC')::date + ${daysAhead}::int))
    from carillon.shards`;
}

/**
 * Moves a shard's far rows into the near plan as they come near, the earliest first, and raises the line between the two.
 * In bounded steps under the plan lock: creates and edits read the line under the same lock, and are never kept waiting long.
 * Returns whether there is more to move.
 */
export function bringNear(sql: Sql, shard: number, rowsMax: number = moveMax): Promise<boolean> {
  return sql.begin(async (tx) => {
    const [, state] = await Promise.all([lockPlan(tx, shard), readShard(tx, shard)]);
    const target = new Date((Math.floor(state.now.getTime() / dayMs) + daysAhead) * dayMs);
    if (state.nearUntil >= target) return false;
    const [moved] = await tx<{ moved: number; lastDueAt: Date | null }[]>`
      with near as (
        select ctid, due_at from carillon.plan_far
        where shard = ${shard} and due_at < ${target}
        order by due_at fetch first ${rowsMax} rows with ties
      ), taken as (
        delete from carillon.plan_far f using near where f.ctid = near.ctid
        returning f.due_at, f.occurrence, f.schedule_id, f.every_ms, f.version, f.cadence_id, f.governed, f.shard
      ), inserted as (
        insert into carillon.plan (due_at, occurrence, schedule_id, every_ms, version, cadence_id, governed, shard)
        select due_at, occurrence, schedule_id, every_ms, version, cadence_id, governed, shard from taken order by due_at
      )
      select count(*)::int as moved, max(due_at) as "lastDueAt" from taken`;
    const more = (moved?.moved ?? 0) >= rowsMax && moved?.lastDueAt != null;
    // All rows due at the last instant moved (with ties), so the line may stand just after it.
    const line = more && moved?.lastDueAt ? new Date(moved.lastDueAt.getTime() + 1) : target;
    await tx`update carillon.shards set near_until = greatest(near_until, ${line}) where id = ${shard}`;
    return more;
  });
}

/** Where the line between near and far is to stand at that moment: at the end of the last day that is attached. */
export const nearLine = (tx: Tx, moment: postgres.PendingQuery<postgres.Row[]>) => tx`
  ((${moment} at time zone 'UTC')::date + ${daysAhead}::int)::timestamp at time zone 'UTC'`;

/** Shards whose line stands before where it should; `urgent` are those in which it would stop this very tick. */
export async function shardsToBringNear(sql: Sql): Promise<{ shard: number; urgent: boolean }[]> {
  return sql<{ shard: number; urgent: boolean }[]>`
    select id as shard, near_until <= carillon.clock() + ${horizonMs} * interval '1 millisecond' as urgent
    from carillon.shards
    where near_until < ${nearLine(sql, sql`carillon.clock()`)} order by id`;
}
