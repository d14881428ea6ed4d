-- A hold on a group or a tag is put on its members one after the other. Its row says what is wanted and how far it has come, so that
-- anybody can go on where somebody stopped; creates and edits read it for what they bring into the group or the tag.

create sequence carillon.shared_hold_revisions;

alter table carillon.shared_holds
  -- Who set it last, or released it.
  add column author text not null,
  -- Another for each wish: who carries out an older one stops.
  add column revision bigint not null default nextval('carillon.shared_hold_revisions'),
  -- It binds nobody new from here on; the row goes when nobody has the hold any more.
  add column released_at timestamptz(3),
  -- The members up to here have been seen to, in the order of their walk; null when all have.
  add column reached text collate "C" default '',
  -- Members changed for this wish.
  add column members int not null default 0,
  add constraint shared_holds_released_is_under_way check (released_at is null or reached is not null);

-- Read by the tick: what nobody has come back for.
create index shared_holds_unfinished on carillon.shared_holds (revision) where reached is not null;

-- Read by the tick: holds whose end has come.
create index shared_holds_until on carillon.shared_holds (until) where until is not null;

-- Read where a tag is paused, and by lists of a rare tag. Schedules without tags stay out of it. Without a pending list: no
-- create pays for many others.
create index schedules_tags on carillon.schedules using gin (tags) with (fastupdate = off)
  where deleted_at is null and tags <> '{}';

grant usage on sequence carillon.shared_hold_revisions to carillon_api;
-- The tick puts holds on the members that are left, and takes them off.
grant update (reached, members) on carillon.shared_holds to carillon_tick;
grant insert on carillon.holds to carillon_tick;
grant update on carillon.holds to carillon_tick;
