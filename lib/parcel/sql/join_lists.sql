-- Sets whether the statements that the calling function plans next join by hash (true) or by nested loops
-- (false). A function with kept plans plans under its own settings; carillon.plain_jobs needs others for one
-- statement. The SET clause of the calling function restores the settings at its end.
-- Locks: none.
-- Returns: nothing.
-- Called by: carillon.claim_parcel, carillon.claim_parcels and carillon.claim_company, around
-- carillon.plain_jobs.
create or replace function carillon.join_lists(p_together boolean) returns void language sql
  as $$
    select set_config('enable_hashjoin', case when p_together then 'on' else 'off' end, true),
      set_config('enable_nestloop', case when p_together then 'off' else 'on' end, true)
  $$;
