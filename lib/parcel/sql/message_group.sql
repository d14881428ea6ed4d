-- Names the message group of a parcel with the many jobs of a team. SQS shares its receivers out among groups
-- whose messages wait, so a team of weight three has three groups. The name says nothing about the prefix.
-- Locks: none.
-- Returns: the name; null for a parcel of no team.
-- Called by: carillon.message_groups; fire in lib/plan/fire.ts.
create or replace function carillon.message_group(p_team int, p_parcel bigint) returns text
  language plpgsql stable
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  as $$
begin
  if p_team is null then return null; end if;
  return (select 'team-' || t.id || case when t.weight > 1 then '-' || p_parcel % t.weight else '' end from carillon.teams t where t.id = p_team);
end $$;
