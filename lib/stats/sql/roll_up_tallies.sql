-- Adds these rows of tallies to their minutes and to the lateness of their minutes, and deletes them. Rows
-- that are locked or gone are passed over.
-- Locks: the rows, skipping locked ones; then the rows of the minutes, ascending in each table.
-- Returns: one row: the number of rows that were added, and their sums.
-- Called by: carillon.roll_up; addTallies in lib/tick/housekeeping/roll-up-apart.ts, for the parts of a roll-up that has
-- failed.
create or replace function carillon.roll_up_tallies(p_rows tid[])
  returns table (taken int, fired bigint, succeeded bigint, failed bigint, dead bigint, cancelled bigint, skipped bigint, missed bigint,
    pulses_lost bigint, pulse_seconds_passed bigint)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
#variable_conflict use_column
begin
  return query
    with taken as (
      delete from carillon.tallies t
      where t.ctid = any (array(select p.ctid from carillon.tallies p where p.ctid = any (p_rows) for update skip locked))
      returning t.*
    ), counted as (
      insert into carillon.minutes as m (minute, fired, succeeded, failed, dead, cancelled, skipped, missed, pulses, pulses_lost)
      select date_trunc('minute', t.at), coalesce(sum(t.fired), 0), coalesce(sum(t.succeeded), 0), coalesce(sum(t.failed), 0),
        coalesce(sum(t.dead), 0), coalesce(sum(t.cancelled), 0), coalesce(sum(t.skipped), 0), coalesce(sum(t.missed), 0),
        coalesce(sum(t.pulses), 0), coalesce(sum(t.pulses_lost), 0)
      from taken t group by 1 order by 1
      on conflict (minute) do update set fired = m.fired + excluded.fired, succeeded = m.succeeded + excluded.succeeded,
        failed = m.failed + excluded.failed, dead = m.dead + excluded.dead, cancelled = m.cancelled + excluded.cancelled,
        skipped = m.skipped + excluded.skipped, missed = m.missed + excluded.missed, pulses = m.pulses + excluded.pulses,
        pulses_lost = m.pulses_lost + excluded.pulses_lost
    ), placed as (
      insert into carillon.minute_lateness as m (minute, bucket, jobs)
      select date_trunc('minute', t.at), l.bucket, sum(l.jobs) from taken t cross join lateral unnest(t.late_buckets, t.late_jobs) l (bucket, jobs)
      group by 1, 2 order by 1, 2
      on conflict (minute, bucket) do update set jobs = m.jobs + excluded.jobs
    ), pulses_placed as (
      insert into carillon.minute_pulse_lateness as m (minute, bucket, pulses)
      select date_trunc('minute', t.at), l.bucket, sum(l.pulses) from taken t cross join lateral unnest(t.pulse_buckets, t.pulse_counts) l (bucket, pulses)
      group by 1, 2 order by 1, 2
      on conflict (minute, bucket) do update set pulses = m.pulses + excluded.pulses
    )
    select count(*)::int, coalesce(sum(t.fired), 0)::bigint, coalesce(sum(t.succeeded), 0)::bigint,
      coalesce(sum(t.failed), 0)::bigint, coalesce(sum(t.dead), 0)::bigint, coalesce(sum(t.cancelled), 0)::bigint,
      coalesce(sum(t.skipped), 0)::bigint, coalesce(sum(t.missed), 0)::bigint,
      coalesce(sum(t.pulses_lost), 0)::bigint, coalesce(sum(t.pulse_seconds_passed), 0)::bigint
    from taken t;
end $$;
