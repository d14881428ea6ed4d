-- What is left to be done after a calendar was edited: the schedules that refer to it are planned anew, one by one.

alter table carillon.calendars
  -- The version that brought the rules in force: cadences name it. A later one changed the description alone, and needs no new plan.
  add column rules_version int not null default 1,
  -- Schedules with a greater id may still be planned by older rules; null where none is.
  add column replan_after bigint,
  -- One of those up to there failed: when the others are through, it begins anew.
  add column replan_again boolean not null default false,
  add constraint calendars_rules_have_a_version check (rules_version between 1 and version);

-- Read by every tick: calendars of which something is left to be planned anew.
create index calendars_replan on carillon.calendars (id) where replan_after is not null;

grant update (replan_after, replan_again) on carillon.calendars to carillon_tick;
