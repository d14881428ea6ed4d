-- Deletes these schedules with their tags, holds, versions, ranges passed over, failures, wanted holds and
-- pulses. The audit stays. The counts of skipped occurrences stay too: carillon.tally_unpassed sees the
-- setting carillon.purging.
-- Locks: the deleted rows. The caller has locked the schedules.
-- Returns: the number of deleted schedules.
-- Called by: carillon.purge_schedules.
create or replace function carillon.purge_listed(p_ids bigint[]) returns int
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_gone int;
begin
  if coalesce(cardinality(p_ids), 0) = 0 then
    return 0;
  end if;
  -- Not as a setting of the function: an owner that is no superuser may not give it one.
  perform set_config('carillon.purging', 'on', true);
  delete from carillon.schedule_tags t using carillon.schedules s
  where s.id = any(p_ids) and coalesce(s.deleted_at, 'infinity') = 'infinity' and t.key = s.key and t.tag = any(s.tags collate "C");
  delete from carillon.holds h where h.schedule_id = any(p_ids);
  delete from carillon.schedule_versions v where v.schedule_id = any(p_ids);
  delete from carillon.passed_over o where o.schedule_id = any(p_ids);
  delete from carillon.failure_runs f where f.schedule_id = any(p_ids);
  delete from carillon.wanted_holds w where w.schedule_id = any(p_ids);
  delete from carillon.pulses u where u.schedule_id = any(p_ids);
  delete from carillon.over_schedules e where e.schedule_id = any(p_ids);
  delete from carillon.schedules s where s.id = any(p_ids);
  get diagnostics v_gone = row_count;
  perform set_config('carillon.purging', '', true);
  return v_gone;
end $$;
