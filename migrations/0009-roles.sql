-- One database role per function, with the rights its statements need and no more. They cannot log in as they are:
-- whoever deploys gives them a login (IAM in AWS, a password locally). Roles belong to the whole server, so another
-- database of it may have made them already.
do $$
declare
  v_role text;
begin
  foreach v_role in array array['carillon_tick', 'carillon_worker', 'carillon_api'] loop
    begin
      execute format('create role %I nologin', v_role);
    exception when duplicate_object or unique_violation then null;
    end;
    -- Settings live on the role, not in the session: nothing for RDS Proxy to pin, and whatever hangs ends by itself before
    -- it keeps a shard's locks from the others. Compiling plans costs more than the short statements here take.
    execute format('alter role %I in database %I set jit = off', v_role, current_database());
    execute format('alter role %I in database %I set lock_timeout = %L', v_role, current_database(), '5s');
    execute format('alter role %I in database %I set statement_timeout = %L', v_role, current_database(),
      case v_role when 'carillon_tick' then '40s' else '10s' end);
    execute format('alter role %I in database %I set idle_in_transaction_session_timeout = %L', v_role, current_database(), '10s');
  end loop;
end $$;

grant usage on schema carillon to carillon_tick, carillon_worker, carillon_api;
revoke execute on all functions in schema carillon from public;
grant execute on function carillon.clock() to carillon_tick, carillon_worker, carillon_api;

-- The worker: claim and settle, which run with their owner's rights.
grant execute on function carillon.claim_parcel(bigint, int) to carillon_worker;
grant execute on function carillon.settle_parcel(bigint, int, timestamptz[], bigint[], carillon.job_kind[], int[], text[], bigint[], text[], int[])
  to carillon_worker;
grant update (offer_at, offers) on carillon.parcels to carillon_worker;
grant select on carillon.parcels to carillon_worker;

-- The tick plans, sweeps, and lets go of holds whose end has come.
grant execute on function carillon.attach_days(date, date), carillon.drop_plan_days(), carillon.drop_job_day(interval) to carillon_tick;
grant select on all tables in schema carillon to carillon_tick;
revoke select on carillon.tokens from carillon_tick;
grant update on carillon.shards, carillon.parcels, carillon.jobs, carillon.schedules to carillon_tick;
grant insert on carillon.plan, carillon.plan_far, carillon.jobs, carillon.parcels, carillon.attempts, carillon.passed_over,
  carillon.schedule_versions, carillon.cadences, carillon.audit to carillon_tick;
grant delete on carillon.plan_far, carillon.parcels, carillon.holds, carillon.jobs to carillon_tick;

-- The API edits schedules, which plans and withdraws.
grant execute on function carillon.attach_days(date, date) to carillon_api;
grant select on all tables in schema carillon to carillon_api;
grant insert on carillon.schedules, carillon.schedule_versions, carillon.cadences, carillon.holds, carillon.plan, carillon.plan_far,
  carillon.jobs, carillon.parcels, carillon.passed_over, carillon.audit, carillon.tokens to carillon_api;
grant update on carillon.schedules, carillon.holds, carillon.jobs, carillon.parcels, carillon.tokens to carillon_api;
grant delete on carillon.jobs, carillon.parcels, carillon.holds, carillon.tokens to carillon_api;
grant usage on all sequences in schema carillon to carillon_tick, carillon_api;
