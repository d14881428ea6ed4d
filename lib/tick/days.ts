import type postgres from "postgres";
import type { Sql, Tx } from "../db/connect.ts";

/** Number of days ahead for which partitions exist. The near plan ends with the last of them. */
export const daysAhead = 3;

interface MissingDay {
  day: string;
  /** Yesterday or later: edits and batches may need it at this moment. */
  isNow: boolean;
}

/**
 * Attaches the days that planning may need, from a day before the oldest watermark (an occurrence
 * may be a day before its due time) to a few days ahead. Each day has a transaction of its own:
 * attaching one locks each of its tables and indexes, and after a year's stop there are hundreds of
 * days. Current days come first, because edits and shards that are not behind need them. Past days
 * follow, oldest first, until time is up; the next tick continues. Returns whether all days are
 * attached.
 */
export async function attachDays(
  sql: Sql,
  timeIsUp: () => boolean,
  /** Called when the current days are attached. */
  onNow: () => void,
): Promise<boolean> {
  const missing = await missingDays(sql);
  for (const { day } of missing.filter(({ isNow }) => isNow)) await attachDay(sql, day);
  onNow();
  for (const { day } of missing.filter(({ isNow }) => !isNow)) {
    if (timeIsUp()) return false;
    await attachDay(sql, day);
  }
  return true;
}

async function attachDay(sql: Sql, day: string): Promise<void> {
  await sql`select carillon.attach_days(${day}::text::date, ${day}::text::date)`;
}

/** The missing days, oldest first. A day that lacks one of its tables is missing too. */
function missingDays(sql: Sql): Promise<MissingDay[]> {
  return sql<MissingDay[]>`
    with span as (
      select (least(min(watermark_at), carillon.clock()) at time zone 'UTC' - interval '1 day')::date as first,
        (carillon.clock() at time zone 'UTC')::date as today
      from carillon.shards
    ), attached as (
      select right(c.relname, 8) as day, count(*) as tables
      from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = any(array['carillon.plan', 'carillon.jobs', 'carillon.attempts', 'carillon.jobs_beside', 'carillon.dead_jobs',
        'carillon.error_groups', 'carillon.job_requests', 'carillon.parcel_times']::regclass[])
      group by 1
    )
    select d.day::date::text as day, d.day >= s.today - 1 as "isNow"
    from span s cross join generate_series(s.first::timestamp, s.today + ${daysAhead}::int, interval '1 day') d (day)
    left join attached a on a.day = to_char(d.day, 'YYYYMMDD')
    where coalesce(a.tables, 0) < 8
    order by d.day`;
}

/** The near line as it should be at that moment: the end of the last attached day. */
export const nearLine = (tx: Tx, moment: postgres.PendingQuery<postgres.Row[]>) => tx`
  ((${moment} at time zone 'UTC')::date + ${daysAhead}::int)::timestamp at time zone 'UTC'`;

/** If the shard is `behind`, the rows to move may be due on past days. */
export interface ShardToBringNear {
  shard: number;
  behind: boolean;
}

/** Shards whose near line is earlier than it should be. */
export async function shardsToBringNear(sql: Sql): Promise<ShardToBringNear[]> {
  return sql<ShardToBringNear[]>`
    select id as shard, near_until < (carillon.clock() at time zone 'UTC')::date::timestamp at time zone 'UTC' as behind
    from carillon.shards
    where near_until < ${nearLine(sql, sql`carillon.clock()`)} order by id`;
}
