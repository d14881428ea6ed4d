-- Edits of many schedules at once.

-- As for one: what somebody edits on purpose starts afresh.
create function carillon.forget_failures(p_schedules bigint[]) returns void
  language sql volatile security definer
  set search_path = pg_catalog, pg_temp
  as $$
    delete from carillon.failure_runs where schedule_id = any(p_schedules);
    delete from carillon.wanted_holds where schedule_id = any(p_schedules);
  $$;

revoke execute on function carillon.forget_failures(bigint[]) from public;
grant execute on function carillon.forget_failures(bigint[]) to carillon_tick, carillon_api, carillon_handler;
