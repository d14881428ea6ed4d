-- Settles a claimed parcel of pulses under its fence and deletes it. Writes how many pulses were taken
-- (p_pulses) and how late (p_counts of them by p_late_ms), and how many were lost for good.
-- The pulses behind the place (p_rest_every, p_rest_schedule), for which the worker had no time, go into a
-- new parcel that is ready at once. The pulses of the targets in p_failed go into a parcel that is ready
-- later and begins behind the place (p_failed_every, p_failed_schedule), unless this was the last try: then
-- they are noted as passed over (`failed`). Pulses of the targets in p_refused are never tried again, and are
-- noted as `refused`.
-- Locks: the parcel.
-- Returns: first a row with settled, false if the fence is not the caller's, where nothing is written; then
-- the new parcels, to be sent.
-- Called by: settlePulses in lib/pulse/settle-pulses.ts.
create or replace function carillon.settle_pulses(p_parcel bigint, p_fence int, p_pulses bigint, p_late_ms int[], p_counts bigint[],
    p_rest_every int, p_rest_schedule bigint, p_failed int[], p_failed_counts bigint[], p_failed_every int, p_failed_schedule bigint,
    p_refused int[], p_refused_counts bigint[])
  returns table (settled boolean, id bigint, queue carillon.queue_class, ready_at timestamptz)
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
#variable_conflict use_column
declare
  v_now timestamptz := carillon.clock();
  v_parcel carillon.parcels;
  v_tries smallint;
  v_again_at timestamptz;
  v_lost bigint;
begin
  delete from carillon.parcels p where p.id = p_parcel and p.fence = p_fence and p.pulse_at is not null returning p.* into v_parcel;
  return query select v_parcel.id is not null, null::bigint, null::carillon.queue_class, null::timestamptz;
  if v_parcel.id is null then return; end if;

  if p_rest_every is not null then
    return query
      insert into carillon.parcels (shard, queue, ready_at, offer_at, pulse_at, pulse_targets, pulse_tries, pulse_team_from, pulse_team_to, pulse_every, pulse_schedule,
        occurrences, schedule_ids)
      values (v_parcel.shard, v_parcel.queue, v_now, v_now + interval '20 seconds', v_parcel.pulse_at, v_parcel.pulse_targets, v_parcel.pulse_tries,
        v_parcel.pulse_team_from, v_parcel.pulse_team_to, p_rest_every, p_rest_schedule, '{}', '{}')
      returning true, parcels.id, parcels.queue, parcels.ready_at;
  end if;

  v_tries := coalesce(v_parcel.pulse_tries, 0) + 1;
  if cardinality(p_failed) > 0 and v_tries < carillon.pulse_tries_max() then
    -- 5, 10, 20, 40 and 80 seconds.
    v_again_at := v_now + interval '5 seconds' * power(2, v_tries - 1);
    return query
      insert into carillon.parcels (shard, queue, ready_at, offer_at, pulse_at, pulse_targets, pulse_tries, pulse_team_from, pulse_team_to, pulse_every, pulse_schedule,
        occurrences, schedule_ids)
      values (v_parcel.shard, v_parcel.queue, v_again_at, greatest(v_now + interval '20 seconds', v_again_at - interval '150 seconds'),
        v_parcel.pulse_at, p_failed, v_tries, v_parcel.pulse_team_from, v_parcel.pulse_team_to, p_failed_every, p_failed_schedule, '{}', '{}')
      returning true, parcels.id, parcels.queue, parcels.ready_at;
    p_failed := null;
  end if;

  insert into carillon.pulses_passed (from_at, to_at, noted_at, shard, target_id, team_id, count, reason)
  select v_parcel.pulse_at, v_parcel.pulse_at, v_now, v_parcel.shard, l.target_id,
    case when v_parcel.pulse_team_from = v_parcel.pulse_team_to then v_parcel.pulse_team_from end, l.count, l.reason
  from (
    select f.*, 'failed' as reason from unnest(p_failed, case when p_failed is not null then p_failed_counts end) f (target_id, count)
    union all
    select r.*, 'refused' from unnest(p_refused, p_refused_counts) r (target_id, count)
  ) l;
  select sum(c) into v_lost from unnest(case when p_failed is not null then p_failed_counts end || p_refused_counts) c;
  if p_pulses > 0 or v_lost > 0 then
    insert into carillon.tallies (at, pulses, pulses_lost, pulse_buckets, pulse_counts)
    values (v_now, p_pulses, v_lost,
      array(select carillon.lateness_bucket(l.ms * interval '1 millisecond') from unnest(p_late_ms) with ordinality l (ms, place) order by l.place), p_counts);
  end if;
end $$;
