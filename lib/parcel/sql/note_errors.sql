-- Names the error group of each failed job of these lists: 12 hex digits that are the same for the same target,
-- class and normalised error, in every process and for ever. The first failed job of a day in a group notes the
-- group for that day. Equal errors of one call are normalised once.
-- The row of a group lies in the day of its jobs, so that it is dropped with them. Two calls at once may note the
-- same row twice, so that neither waits for the other.
-- Locks: none.
-- Returns: the groups, in the order of the lists; null for a job that has not failed (outcome `retry`, `crashed`
-- or `dead`).
-- Called by: carillon.write_outcomes, carillon.end_lease.
create or replace function carillon.note_errors(p_occurrences timestamptz[], p_schedule_ids bigint[], p_outcomes text[], p_errors text[], p_classes text[])
  returns text[]
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
#variable_conflict use_column
declare
  v_groups text[];
begin
  with failed as materialized (
    select g.place, date_bin('1 day', g.occurrence, 'epoch') as day, g.occurrence, g.class, g.error, s.target_id, s.target_kind
    from unnest(p_occurrences, p_schedule_ids, p_outcomes, p_errors, p_classes) with ordinality g (occurrence, schedule_id, outcome, error, class, place)
    left join lateral (select s.target_id, s.target_kind from carillon.schedules s where s.id = g.schedule_id offset 0) s on true
    where g.outcome in ('retry', 'crashed', 'dead')
  ), errors as materialized (
    select t.target, e.class, n.error, e.days, e.occurrences, e.places,
      left(encode(sha256(convert_to(concat_ws(E'\n', t.target, coalesce(e.class, ''), n.error), 'UTF8')), 'hex'), 12) as id
    from (
      select target_id, target_kind, class, error, array_agg(day) as days, array_agg(occurrence) as occurrences, array_agg(place) as places
      from failed group by target_id, target_kind, class, error) e
    cross join lateral (
      select coalesce((select t.name from carillon.targets t where t.id = e.target_id), e.target_kind, '') as target) t
    cross join lateral (select carillon.normalised_error(e.error) as error offset 0) n
  ), noted as (
    insert into carillon.error_groups (occurrence, id, target, class, error)
    select o.occurrence, o.id, o.target, o.class, o.error
    from (
      select e.id, d.day, min(d.occurrence) as occurrence, min(e.target) as target, min(e.class) as class, min(e.error) as error
      from errors e cross join lateral unnest(e.days, e.occurrences) d (day, occurrence) group by e.id, d.day) o
    where not exists (
      select from carillon.error_groups g where g.id = o.id and g.occurrence >= o.day and g.occurrence < o.day + interval '24 hours' offset 0)
      -- Else the day has been dropped while its last worker was still busy.
      and to_regclass('carillon.error_groups_' || to_char(o.day at time zone 'UTC', 'YYYYMMDD')) is not null
  )
  select array_agg(l.id order by l.place) into v_groups
  from (
    select unnest(e.places) as place, e.id from errors e
    union all
    select o.place, null from unnest(p_outcomes) with ordinality o (outcome, place) where o.outcome not in ('retry', 'crashed', 'dead')) l;
  return v_groups;
end $$;
