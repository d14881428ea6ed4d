import type { Sql, Tx } from "../../db/connect.ts";
import { tryLockPlans } from "../../db/locks.ts";
import { never } from "../../db/readable-instants.ts";
import { greatestSchedule, horizonMs } from "../../plan/shard.ts";
import { nearLine } from "../days.ts";

/**
 * Raises the watermarks of shards that have nothing due before the horizon, in one transaction, and
 * returns these shards. In a small installation these are most shards in most minutes, and firing
 * each alone would cost about the same statements each. Their locks are taken first, in a statement
 * of their own as always. A shard that an edit or another tick has locked is not waited for,
 * because edits of the locked others would wait meanwhile: it is fired by itself.
 */
export function passIdleShards(
  sql: Sql,
  shards: readonly number[],
  aheadMs: number = horizonMs,
): Promise<ReadonlySet<number>> {
  return sql.begin(async (tx) => {
    const locked = await tryLockPlans(tx, shards);
    if (locked.length === 0) return new Set();
    const idle = await tx<{ shard: number }[]>`
      with standing as materialized (
        select s.*, least(now + ${aheadMs} * interval '1 millisecond', near_until - interval '1 millisecond') as horizon
        from carillon.shards s cross join (select carillon.clock() as now) clock where id = any(${locked}::int[])
      ), looked as materialized (
        select s.id, s.horizon, (s.watermark_at, s.watermark_schedule) >= (s.horizon, ${greatestSchedule}::bigint) as reached, ${anythingDue(tx)} as due
        from standing s
      ), raised as (
        update carillon.shards s
        set (watermark_at, watermark_schedule, reached_at) = row(l.horizon, ${greatestSchedule}::bigint, greatest(s.reached_at, l.horizon)),
          -- Where there is no pulse there are no parcels to be made for them: the edit that makes the first makes those until then.
          pulsed_to = case when exists (select from carillon.pulses p where p.shard = s.id) then s.pulsed_to
            else greatest(s.pulsed_to, date_trunc('second', l.horizon)) end
        from looked l where l.id = s.id and not l.reached and not l.due
      )
      select id as shard from looked where reached or not due`;
    return new Set(idle.map(({ shard }) => shard));
  });
}

/**
 * Raises the near lines of the shards that have no far row below the new line, and returns these
 * shards.
 */
export function raiseIdleLines(sql: Sql, shards: readonly number[]): Promise<ReadonlySet<number>> {
  return sql.begin(async (tx) => {
    const locked = await tryLockPlans(tx, shards);
    if (locked.length === 0) return new Set();
    const raised = await tx<{ shard: number }[]>`
      update carillon.shards s set near_until = greatest(s.near_until, l.line)
      from (select ${nearLine(tx, tx`carillon.clock()`)} as line offset 0) l
      where s.id = any(${locked}::int[])
        and (select true from carillon.plan_far f where f.shard = s.id and f.due_at < l.line order by f.due_at limit 1) is null
        and (select true from carillon.plan_far f where f.shard = s.id and f.due_at >= ${never(tx)} order by f.due_at limit 1) is null
      returning s.id as shard`;
    return new Set(raised.map(({ shard }) => shard));
  });
}

/**
 * Whether a shard has a due row, by one index lookup. A subquery with a limit stays an index
 * lookup, whatever the planner estimates for days that it has not analyzed.
 */
const anythingDue = (tx: Tx) => tx`
  coalesce((
    select true from carillon.plan p
    where p.shard = s.id and (p.due_at, p.schedule_id) > (s.watermark_at, s.watermark_schedule)
      and p.due_at >= s.watermark_at and p.due_at <= s.horizon
    order by p.due_at, p.schedule_id limit 1), false)`;
