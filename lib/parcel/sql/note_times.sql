-- Keeps the times of a parcel whose work has ended: one row for each day of its occurrences, in the day of the
-- jobs. A parcel may still list a job that has left it and whose day is dropped: that day gets no row. A parcel
-- that no worker has claimed gets none.
-- Locks: none.
-- Returns: nothing.
-- Called by: carillon.settle_parcel, carillon.settle_parcels, carillon.end_lease, carillon.leave_parcel.
create or replace function carillon.note_times(p_id bigint, p_claimed_at timestamptz, p_made_at timestamptz, p_sent_at timestamptz, p_waited_at timestamptz,
    p_now timestamptz, p_target_id int, p_queue carillon.queue_class, p_shard smallint, p_occurrences timestamptz[])
  returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_first timestamptz;
  v_last timestamptz;
begin
  if p_claimed_at is null then return; end if;
  select min(o), max(o) into v_first, v_last from unnest(p_occurrences) o;
  -- Nearly all parcels have occurrences of one day.
  if date_bin('1 day', v_first, 'epoch') <> date_bin('1 day', v_last, 'epoch') then
    perform carillon.note_times(p_id, p_claimed_at, p_made_at, p_sent_at, p_waited_at, p_now, p_target_id, p_queue, p_shard, array[min(o)])
    from unnest(p_occurrences) o group by date_bin('1 day', o, 'epoch');
  elsif to_regclass('carillon.parcel_times_' || to_char(v_first at time zone 'UTC', 'YYYYMMDD')) is not null then
    insert into carillon.parcel_times (occurrence, parcel_id, claimed_at, made_at, sent_at, waited_at, settled_at, target_id, queue, shard)
    values (v_first, p_id, p_claimed_at, p_made_at, p_sent_at, p_waited_at, p_now, p_target_id, p_queue, p_shard);
  end if;
end $$;
