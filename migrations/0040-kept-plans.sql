-- carillon: back to 31
-- The functions that run the same few statements all day keep their plans. A plan may have been made while a table was small, and be kept while it
-- grows by thousands a second, until it is analyzed again: so it steps through an index from the beginning, as every statement here is written to.
do $$
declare
  v_role text;
begin
  foreach v_role in array array['carillon_api', 'carillon_worker', 'carillon_handler', 'carillon_ingest'] loop
    execute format('alter role %I in database %I set enable_seqscan = off', v_role, current_database());
  end loop;
end $$;

-- Marks parcels that were handed to their queue: offered again only when nobody has claimed them a minute after they were ready; later offers the sweep
-- has counted already. The order keeps the lock order; a parcel that somebody holds at this moment is past being offered anyway. A function, since its
-- plan is kept: to plan it anew for one parcel took twice as long as to run it.
create function carillon.mark_sent(p_ids bigint[]) returns void
  language plpgsql
  set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
  as $$
begin
  with locked as (
    select id from carillon.parcels where id = any(p_ids) order by id for update skip locked
  )
  update carillon.parcels p
  set offers = greatest(p.offers, 1), offer_at = greatest(p.offer_at, greatest(p.ready_at, carillon.clock()) + interval '1 minute')
  from locked where p.id = locked.id;
end $$;

revoke execute on function carillon.mark_sent(bigint[]) from public;
grant execute on function carillon.mark_sent(bigint[]) to carillon_tick, carillon_api, carillon_worker;
