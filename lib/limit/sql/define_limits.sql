-- Takes over the limits that the deployed handlers define, where they differ from those stored. They come
-- into force unless limits were set through the API. A handler that is not in p_names has no defined limits
-- any more. Turns at a changed target are given again; the sweep sends the parcels that get one.
-- Locks: for each target that changes, in the order of names: the target, its row, and its parcels as
-- carillon.renew_turns does.
-- Returns: the number of targets that have changed.
-- Called by: defineLimits in lib/limit/define-limits.ts, when a function starts.
create or replace function carillon.define_limits(p_names text[], p_concurrency int[], p_rate_counts int[], p_rate_ms int[]) returns int
  language plpgsql security definer
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_new record;
  v_count int := 0;
begin
  for v_new in
    select coalesce(d.name, t.name) as name, d.concurrency, d.rate_count, d.rate_ms
    from unnest(p_names, p_concurrency, p_rate_counts, p_rate_ms) d (name, concurrency, rate_count, rate_ms)
    full join (select * from carillon.targets where name like 'handler/%') t on t.name = d.name
    where (d.concurrency, d.rate_count, d.rate_ms) is distinct from (t.defined_concurrency, t.defined_rate_count, t.defined_rate_ms)
    order by 1
  loop
    perform carillon.lock_target(carillon.target_named(v_new.name));
    update carillon.targets t set defined_concurrency = v_new.concurrency, defined_rate_count = v_new.rate_count, defined_rate_ms = v_new.rate_ms,
      concurrency = case when t.set_at is null then v_new.concurrency else t.concurrency end,
      rate_count = case when t.set_at is null then v_new.rate_count else t.rate_count end,
      rate_ms = case when t.set_at is null then v_new.rate_ms else t.rate_ms end
    where t.name = v_new.name;
    -- The sweep sends the parcels that get a turn here.
    perform from carillon.renew_turns(carillon.target_named(v_new.name));
    v_count := v_count + 1;
  end loop;
  return v_count;
end $$;
