-- Gives the id of the target of this name, and makes the target if there is none. A target that is marked as
-- unused loses its mark.
-- A target without a mark is read without a lock, because many schedules share few targets: a put that has
-- read it before it is marked ends long before the mark counts (carillon.is_long_unused). If the target is
-- being deleted, this waits for the delete and makes it again.
-- Locks: the row of a target that is new or marked; none otherwise.
-- Returns: the id.
-- Called by: carillon.define_limits; change in lib/limit/limits.ts; makeShared in lib/batch/make-shared.ts;
-- wantedRows in lib/schedule/stored/version-rows.ts; nameSome in lib/tick/housekeeping/name-targets.ts.
create or replace function carillon.target_named(p_name text) returns int
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_id int;
  v_unused_at timestamptz;
begin
  -- Tries again if the target was deleted, or made, between two of these statements.
  for v_try in 1 .. 10 loop
    select t.id, t.unused_at into v_id, v_unused_at from carillon.targets t where t.name = p_name;
    if v_id is null then
      insert into carillon.targets (name) values (p_name) on conflict do nothing returning id into v_id;
    elsif v_unused_at is not null then
      update carillon.targets t set unused_at = null where t.id = v_id returning t.id into v_id;
    end if;
    if v_id is not null then return v_id; end if;
  end loop;
  raise exception 'The target % was neither made nor found.', p_name;
end $$;
