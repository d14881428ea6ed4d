-- Names the error group of each failed job of these lists: 12 hex digits that are the same for the same target,
-- class and normalised error, in every process and for ever. The first failed job of a day in a group notes the
-- group for that day. Equal errors of one day are normalised once.
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
  v_groups text[] := array_fill(null::text, array[cardinality(p_outcomes)]);
  v_same record;
  v_error text;
  v_id text;
  v_place int;
begin
  for v_same in
    select e.day, e.occurrence, coalesce((select t.name from carillon.targets t where t.id = e.target_id), e.target_kind, '') as target, e.class, e.error, e.places
    from (
      select date_bin('1 day', g.occurrence, 'epoch') as day, s.target_id, s.target_kind, g.class, g.error, min(g.occurrence) as occurrence,
        array_agg(g.place) as places
      from unnest(p_occurrences, p_schedule_ids, p_outcomes, p_errors, p_classes) with ordinality g (occurrence, schedule_id, outcome, error, class, place)
      left join carillon.schedules s on s.id = g.schedule_id
      where g.outcome in ('retry', 'crashed', 'dead')
      group by 1, 2, 3, 4, 5) e
  loop
    v_error := carillon.normalised_error(v_same.error);
    v_id := left(encode(sha256(convert_to(concat_ws(E'\n', v_same.target, coalesce(v_same.class, ''), v_error), 'UTF8')), 'hex'), 12);
    foreach v_place in array v_same.places loop
      v_groups[v_place] := v_id;
    end loop;
    continue when exists (
      select from carillon.error_groups g where g.id = v_id and g.occurrence >= v_same.day and g.occurrence < v_same.day + interval '24 hours');
    -- Else the day has been dropped while its last worker was still busy.
    if to_regclass('carillon.error_groups_' || to_char(v_same.day at time zone 'UTC', 'YYYYMMDD')) is not null then
      insert into carillon.error_groups (occurrence, id, target, class, error) values (v_same.occurrence, v_id, v_same.target, v_same.class, v_error);
    end if;
  end loop;
  return v_groups;
end $$;
