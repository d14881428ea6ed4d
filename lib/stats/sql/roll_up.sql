-- Adds at most p_max rows of schedule_tallies and p_max rows of tallies to the counts, and deletes these
-- rows. Rows that another tick has are left to it.
-- Locks: the rows of schedule_tallies, skipping locked ones, and the row of schedule_counts; then the rows of
-- tallies, skipping locked ones, and those of their minutes, ascending.
-- Returns: one row: `taken`, the larger of the two numbers of rows, and the sums of the tallies.
-- Called by: rollUpTallies in lib/tick/housekeeping/roll-up.ts, until `taken` is below p_max.
create or replace function carillon.roll_up(p_max int)
  returns table (taken int, fired bigint, succeeded bigint, failed bigint, dead bigint, cancelled bigint, skipped bigint, missed bigint,
    pulses_lost bigint, pulse_seconds_passed bigint)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
#variable_conflict use_column
declare
  v_schedules int := carillon.roll_up_schedules(array(select p.ctid from carillon.schedule_tallies p limit p_max for update skip locked));
begin
  return query
    select greatest(v_schedules, r.taken), r.fired, r.succeeded, r.failed, r.dead, r.cancelled, r.skipped, r.missed, r.pulses_lost, r.pulse_seconds_passed
    from carillon.roll_up_tallies(array(select p.ctid from carillon.tallies p limit p_max for update skip locked)) r;
end $$;
