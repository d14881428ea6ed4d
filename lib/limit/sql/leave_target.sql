-- Gives the next turns at a target after a parcel has given up its place there. Does nothing if no parcel
-- waits and no claim can be deciding that one has to; a claim that decides later sees that the place is free.
-- A parcel that took no place asks only whether a parcel waits. Where the parcel's team had as many workers as
-- it may, gives turns also at another target at which its parcels wait (carillon.team_targets).
-- Locks: the target, exclusively, and then as carillon.grant_turns. If no parcel waits: the target shared, or
-- nothing for a parcel without a place. Then another target of the team, by a try: a transaction that holds a
-- target waits for no second one.
-- Returns: the parcels that have got a turn, to be sent.
-- Called by: carillon.claim_parcel, for a parcel that turns out to be empty; carillon.settle_parcel and
-- carillon.end_lease, for a parcel with a target.
create or replace function carillon.leave_target(p_parcel carillon.parcels, p_now timestamptz)
  returns table (id bigint, queue carillon.queue_class, ready_at timestamptz)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  as $$
#variable_conflict use_column
declare
  v_other int;
begin
  if not (case when p_parcel.slots is null then not carillon.somebody_waits(p_parcel.target_id) else carillon.nobody_waits(p_parcel.target_id) end)
  then
    return query select * from carillon.next_turns(p_parcel.target_id);
  end if;
  for v_other in select t from carillon.team_targets(p_parcel, p_now) t loop
    continue when not pg_try_advisory_xact_lock(6, v_other);
    return query select * from carillon.grant_turns(v_other, carillon.clock(), 200);
    exit when found;
  end loop;
end $$;
