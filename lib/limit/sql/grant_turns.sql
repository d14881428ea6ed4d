-- Gives the free places of a target to the parcels that wait there, in their order: as many as its limits and
-- its share (carillon.share_now) allow, p_max parcels at most. Small parcels are packed together first (carillon.merge_turns). At
-- a rate each parcel gets the instant at which it may start, at most two minutes ahead, so that a later parcel
-- with a higher priority may still go first. Where parcels of teams are among them it is carillon.team_ahead;
-- a parcel that starts later gets its
-- turn only where no other has one, so that a place that becomes free always gives the next turn. No team gets more places than one team may have (targets.per_team). Of a slow parcel a few jobs are under way at once, however many it holds.
-- Locks: the waiting parcels, with skip locked, and the target's row if it has a rate; before them as
-- carillon.merge_turns. The caller holds the target, exclusively.
-- Returns: the parcels that have got a turn, to be sent.
-- Called by: carillon.enter_target, for a parcel that has to wait; carillon.next_turns; carillon.renew_turns;
-- carillon.leave_target, for another target of the team.
create or replace function carillon.grant_turns(p_target int, p_now timestamptz, p_max int)
  returns table (id bigint, queue carillon.queue_class, ready_at timestamptz)
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  set enable_bitmapscan = off
  as $$
#variable_conflict use_column
declare
  v_target carillon.targets;
  v_parcels bigint;
  v_slots bigint;
  v_from timestamptz;
  v_job_ms float8;
  v_taken bigint;
  v_none_taken boolean;
  v_next bigint[];
begin
  select t.* into v_target from carillon.targets t where t.id = p_target;
  select count(*), coalesce(sum(p.slots), 0) into v_parcels, v_slots from carillon.taken_places p where p.target_id = p_target;
  v_none_taken := v_parcels = 0;
  v_taken := case when carillon.jobs_a_turn(v_target.cost_ms) > 1 and v_target.concurrency is null and v_target.rate_count is null
    then carillon.company_max() * v_parcels else 0 end;
  v_parcels := least(p_max, carillon.share_now(v_target, p_now) - v_parcels);
  v_slots := v_target.concurrency - v_slots;
  v_job_ms := v_target.rate_ms::float8 / v_target.rate_count;
  v_from := greatest(p_now, v_target.busy_until, v_target.next_at + v_target.slipped_ms * interval '1 millisecond');
  if v_parcels <= 0 or v_slots <= 0 then return; end if;
  perform carillon.merge_turns(v_target, p_now, v_parcels);
  v_next := array(select d.id from carillon.due_turns(p_target, p_now, v_parcels + v_taken) d);

  return query
    with first as materialized (
      -- Without parcels that a claim is taking along at this moment.
      select p.id, cardinality(p.occurrences) as jobs, array_position(v_next, p.id) as place from carillon.parcels p
      where p.id = any(v_next) and coalesce(p.turn, 'granted') = 'waits' order by array_position(v_next, p.id) limit v_parcels for update skip locked
    ), own as materialized (
      select s.team, s.slots from carillon.team_slots(p_target) s where v_target.per_team is not null
    ), fitting as materialized (
      -- A slow parcel has a few jobs under way at once, a fast parcel all of its jobs: as many as its team may have.
      select f.id, f.jobs, f.place, p.team_id,
        least(o.at_once, v_target.per_team - coalesce(s.slots, 0) - sum(o.at_once) over team + o.at_once) as at_once
      from first f join carillon.parcels p on p.id = f.id left join own s on s.team = coalesce(p.team_id, 0)
      cross join lateral (select case p.queue when 'fast' then f.jobs else least(f.jobs, carillon.side_by_side()) end as at_once) o
      window team as (partition by coalesce(p.team_id, 0) order by f.place)
    ), placed as materialized (
      select f.id, f.jobs, f.team_id, f.at_once, sum(f.jobs) over place - f.jobs as ahead, sum(f.at_once) over place - f.at_once as slots_ahead
      from fitting f where f.at_once > 0
      window place as (order by f.place)
    ), starting as materialized (
      select l.id, l.jobs, case when count(l.team_id) over () = 0 or (v_none_taken and l.ahead = 0) then interval '2 minutes' else carillon.team_ahead() end as ahead_most,
        least(l.at_once, coalesce(v_slots - l.slots_ahead, l.at_once)) as slots,
        case when v_job_ms is null then p_now else v_from + l.ahead * v_job_ms * interval '1 millisecond' end as start_at
      from placed l where coalesce(l.slots_ahead < v_slots, true)
    ), granted as materialized (
      select s.* from starting s where s.start_at <= p_now + s.ahead_most
    ), moved_on as (
      update carillon.targets t set next_at = v_from - v_target.slipped_ms * interval '1 millisecond' + g.jobs * v_job_ms * interval '1 millisecond'
      from (select sum(jobs) as jobs from granted) g where t.id = p_target and v_job_ms is not null and g.jobs > 0
    )
    update carillon.parcels p set turn = 'granted', slots = g.slots, ready_at = g.start_at, offers = 0,
      slot_at = case when v_job_ms is not null then g.start_at - v_target.slipped_ms * interval '1 millisecond' end,
      offer_at = greatest(p_now + interval '20 seconds', g.start_at - interval '150 seconds')
    from granted g where p.id = g.id
    returning p.id, p.queue, p.ready_at;
end $$;
