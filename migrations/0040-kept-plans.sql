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
