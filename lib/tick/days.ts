import type postgres from "postgres";
import type { Sql, Tx } from "../db/connect.ts";

/** Partitions exist for so many days ahead; the near plan reaches to the end of the last of them. */
export const daysAhead = 3;

interface MissingDay {
  day: string;
  /** Yesterday or later: an edit or a batch at this moment may need it. */
  isNow: boolean;
}

/**
 * Attaches the days that planning may need: from a day before the oldest watermark (due is up to a day after its occurrence) to a few days ahead. Each is
 * a transaction of its own, since making one takes a lock for each of its tables and indexes, and after a year's stop they are hundreds. Those of now come
 * first: edits need them, and shards that are not behind. Then come those of the past, the oldest first, until time is up; the next tick goes on from
 * there. Returns whether all of them are there.
 */
export async function attachDays(
  sql: Sql,
  timeIsUp: () => boolean,
  /** Called when those of now are there. */
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

/** The oldest first. A day of which a table is missing is missing. */
function missingDays(sql: Sql): Promise<MissingDay[]> {
  return sql<MissingDay[]>`
    with span as (
      select (least(min(watermark_at), carillon.clock()) at time zone 'UTC' - interval '1 day')::date as first,
        (carillon.clock() at time zone 'UTC')::date as today
      from carillon.shards
    ), attached as (
      select right(c.relname, 8) as day, count(*) as tables
      from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = any(array['carillon.plan', 'carillon.jobs', 'carillon.attempts', 'carillon.jobs_beside', 'carillon.dead_jobs']::regclass[])
      group by 1
    )
    select d.day::date::text as day, d.day >= s.today - 1 as "isNow"
    from span s cross join generate_series(s.first::timestamp, s.today + ${daysAhead}::int, interval '1 day') d (day)
    left join attached a on a.day = to_char(d.day, 'YYYYMMDD')
    where coalesce(a.tables, 0) < 5
    order by d.day`;
}

/** Where the line between near and far is to stand at that moment: at the end of the last day that is attached. */
export const nearLine = (tx: Tx, moment: postgres.PendingQuery<postgres.Row[]>) => tx`
  ((${moment} at time zone 'UTC')::date + ${daysAhead}::int)::timestamp at time zone 'UTC'`;

/** Of a shard that is `behind` the rows to be moved may be due on days of the past. */
export interface ShardToBringNear {
  shard: number;
  behind: boolean;
}

/** Shards whose line stands before where it should. */
export async function shardsToBringNear(sql: Sql): Promise<ShardToBringNear[]> {
  return sql<ShardToBringNear[]>`
    select id as shard, near_until < (carillon.clock() at time zone 'UTC')::date::timestamp at time zone 'UTC' as behind
    from carillon.shards
    where near_until < ${nearLine(sql, sql`carillon.clock()`)} order by id`;
}
