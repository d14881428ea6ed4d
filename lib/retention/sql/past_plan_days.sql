-- Lists the days of the plan that may be dropped: every shard has left them behind by a day, with its
-- watermark and with the end of its near plan (near_until), and so has the clock.
-- Locks: none.
-- Returns: the days.
-- Called by: carillon.drop_day_of_plan; planDays in lib/retention/drop-days.ts.
create or replace function carillon.past_plan_days() returns setof date
  language sql stable security definer
  set search_path = pg_catalog, pg_temp
  as $$
    select to_date(right(c.relname, 8), 'YYYYMMDD') from pg_inherits i join pg_class c on c.oid = i.inhrelid
    -- The watermark runs ahead of the clock: by itself it would drop yesterday before midnight, which
    -- attaching still needs. Compared as text: the condition is also tried on names of other relations, which
    -- end in no day.
    where i.inhparent = 'carillon.plan'::regclass and right(c.relname, 8) < to_char((
      select least(carillon.clock(), min(least(s.watermark_at, s.near_until))) - interval '1 day' from carillon.shards s) at time zone 'UTC', 'YYYYMMDD')
  $$;
