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

-- A target that a schedule names is never deleted. To make sure of it, each new schedule locked its target's row, which all that go to
-- one target share: a tenth of what making a schedule costs, and a queue where many are made at once.
alter table carillon.schedules drop constraint schedules_target_id_fkey;
