-- Locks the lanes of these schedules, their own (with or without an overlap rule) and those of their groups,
-- and the lanes in p_lanes, which must be lanes of groups. One transaction at a time decides in a lane. What
-- the decision depends on is read by a later statement: the snapshot of this one is older than its locks.
-- Own lanes have 16 keys per shard, so that a parcel of 250 such jobs takes no more locks than that. Lanes of
-- groups reach over shards; they have 1,024 keys below zero. (Class 4: see lib/db/locks.ts.)
-- Locks: these keys, ascending, until the transaction ends.
-- Returns: nothing.
-- Called by: carillon.leave_lanes, carillon.pass_lanes, carillon.sweep_lanes and carillon.cancel_jobs;
-- lockLane and lockLanes in lib/db/locks.ts; sweepSome in lib/parcel/sweep-lanes.ts; deleteTogether in
-- lib/batch/cancel-label.ts; lockLanesToPass in lib/batch/lock-many.ts.
create or replace function carillon.lock_lanes(p_schedules bigint[], p_lanes text[] default null) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_key int;
begin
  for v_key in select (select s.shard * 16 from carillon.schedules s where s.id = k.id) + (hashtext(carillon.lane_of(k.id)) & 15)
               from unnest(p_schedules) k (id)
               union select -1 - (hashtext(s.lane) & 1023) from carillon.schedules s where s.id = any(p_schedules) and s.lane is not null
               union select -1 - (hashtext(l.lane) & 1023) from unnest(p_lanes) l (lane) where l.lane is not null
               order by 1 loop
    perform pg_advisory_xact_lock(4, v_key);
  end loop;
end $$;
