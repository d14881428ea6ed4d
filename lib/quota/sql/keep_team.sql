-- Makes a prefix one whose schedules are counted. The schedules that have it already are assigned by ticks.
-- Locks: the row of carillon.team_list, if the prefix is new.
-- Returns: nothing.
-- Called by: makeTeam in lib/quota/team-list.ts, for the prefix of a token or a caller, and for prefixes with
-- limits or weights of their own; carillon.restrict_caller.
create or replace function carillon.keep_team(p_prefix text) returns void
  language plpgsql volatile security definer
  set search_path = pg_catalog, pg_temp
  as $$
begin
  insert into carillon.teams (prefix, created_at) values (p_prefix, carillon.clock()) on conflict do nothing;
  if found then
    update carillon.team_list set mark = gen_random_uuid(),
      lengths = array(select distinct l from unnest(lengths || length(p_prefix)) l order by l);
  end if;
end $$;
