-- Names the message group of a parcel whose jobs are all of one team. SQS shares its receivers out among groups
-- whose messages wait, so a team of weight three has three groups. The name says nothing about the prefix.
-- Locks: none.
-- Returns: the name; null for a parcel of no team.
-- Called by: carillon.message_groups; fire in lib/plan/fire.ts, admitTurns in lib/plan/backlog.ts, fireReleases
-- in lib/plan/release.ts and makeJob in lib/job-control/fire-now.ts, with the parcels that they make.
create or replace function carillon.message_group(p_team int, p_parcel bigint) returns text
  language plpgsql stable
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off
  as $$
begin
  if p_team is null then return null; end if;
  return (select 'team-' || t.id || case when t.weight > 1 then '-' || p_parcel % t.weight else '' end from carillon.teams t where t.id = p_team);
end $$;
