-- Keeps the times of parcels whose work has ended: one row for each parcel and day of its occurrences, in the day
-- of the jobs. A parcel may still list a job that has left it and whose day is dropped: that day gets no row.
-- Locks: none.
-- Returns: nothing.
-- Called by: carillon.settle_parcel, carillon.settle_parcels, carillon.end_lease, carillon.leave_parcel.
create or replace function carillon.note_times(p_parcels carillon.parcels[], p_now timestamptz) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
begin
  insert into carillon.parcel_times (occurrence, parcel_id, claimed_at, made_at, sent_at, waited_at, settled_at, target_id, queue, shard)
  select d.occurrence, p.id, p.claimed_at, p.made_at, p.sent_at, p.waited_at, p_now, p.target_id, p.queue, p.shard
  from unnest(p_parcels) p cross join lateral (
    select min(o) as occurrence from unnest(p.occurrences) o group by date_bin('1 day', o, 'epoch')) d
  where p.claimed_at is not null and to_regclass('carillon.parcel_times_' || to_char(d.occurrence at time zone 'UTC', 'YYYYMMDD')) is not null;
end $$;
