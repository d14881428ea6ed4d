-- Refuses a command if more of the role that logged in wait in the inbox than the quota `inboxRows` of its prefix
-- allows. Rows of other transactions that are not committed do not count.
-- Locks: none.
-- Returns: nothing. Raises SQLSTATE 53400 beyond the limit.
-- Called by: carillon.send_command, with every hundredth command.
create or replace function carillon.refuse_full_inbox(p_prefix text) returns void
  language plpgsql volatile
  set search_path = pg_catalog, pg_temp
  as $$
declare
  v_most bigint := 100000;
  v_rows bigint;
begin
  select q.most into v_most from carillon.quota_limits q
  where q.kind = 'inboxRows' and q.prefix in (p_prefix, '') order by q.prefix desc limit 1;
  if not found then v_most := 100000; end if;
  if v_most is null then return; end if;
  select count(*) into v_rows from (select from carillon.inbox i where i.caller = session_user::text limit v_most + 1) own;
  if v_rows > v_most then
    raise exception 'Your role has more than % commands in the inbox, the most that its quota allows: wait until they are applied, or raise the quota inboxRows', v_most using errcode = '53400';
  end if;
end $$;
