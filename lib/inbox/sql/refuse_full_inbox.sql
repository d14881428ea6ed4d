-- Refuses a command if as many of the role that logged in wait in the inbox as the quota `inboxRows` of its prefix
-- allows. Rows of other transactions that are not committed do not count.
-- Locks: none.
-- Returns: the number of the next command at which the role has to be counted again. Commands of all roles
-- have one sequence of numbers, so the role cannot be at its limit before. After 10,000 numbers it is counted
-- in any case, so that a changed quota applies. Raises SQLSTATE 53400 at the limit.
-- Called by: carillon.send_command, if the newest command of the role does not show that there is room.
create or replace function carillon.refuse_full_inbox(p_prefix text, p_id bigint) returns bigint
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_caller text := session_user;
  v_most bigint := 100000;
  v_rows bigint;
begin
  select q.most into v_most from carillon.quota_limits q
  where q.kind = 'inboxRows' and q.prefix in (p_prefix, '') order by q.prefix desc limit 1;
  if not found then v_most := 100000; end if;
  if v_most is null then return p_id + 10000; end if;
  select count(*) into v_rows from (
    select from carillon.inbox i where i.caller >= v_caller and i.caller <= v_caller order by i.caller, i.id limit v_most) own;
  if v_rows >= v_most then
    raise exception 'Your role has % commands in the inbox, the most that its quota allows: wait until they are applied, or raise the quota inboxRows', v_most using errcode = '53400';
  end if;
  return p_id + least(v_most - v_rows, 10000);
end $$;
