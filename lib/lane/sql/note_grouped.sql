-- Writes down which handlers take all due jobs of a group together, as the deployed code says. The last
-- caller wins. Only a value that differs is written. Where it changes an existing target, regrouped_at tells
-- the tick that the handler's schedules have to change their lanes.
-- Locks: the rows of the targets that change, in the order of their names.
-- Returns: nothing.
-- Called by: defineGroups in lib/limit/define-limits.ts, when a function starts.
create or replace function carillon.note_grouped(p_targets text[], p_grouped boolean[]) returns void
  language sql volatile security definer
  set search_path = pg_catalog, pg_temp
  as $$
    insert into carillon.targets (name, grouped)
    select h.name, h.grouped from unnest(p_targets, p_grouped) h (name, grouped)
    where not exists (select from carillon.targets t where t.name = h.name and t.grouped = h.grouped)
    order by h.name
    on conflict (name) do update set grouped = excluded.grouped, regrouped_at = carillon.clock()
      where targets.grouped <> excluded.grouped
  $$;
