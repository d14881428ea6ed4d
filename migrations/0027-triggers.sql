-- Triggers.


create trigger schedules_tagged after insert on carillon.schedules
  referencing new table as made for each statement execute function carillon.note_tags();


create trigger schedules_retagged after update of tags, deleted_at on carillon.schedules
  for each row when (old.tags <> new.tags or ((old.deleted_at is null) <> (new.deleted_at is null) and old.tags <> '{}'))
  execute function carillon.note_other_tags();

-- The jobs of the cadence that the tick makes are counted by their batch.
create trigger jobs_tally_made after insert on carillon.jobs for each row
  when (new.state <> 'waiting' or new.kind <> 'cadence' or new.ready_at is not null)
  execute function carillon.tally_made();


create trigger jobs_tally_ended after update on carillon.jobs for each row
  when (new.state in ('skipped', 'cancelled') and old.state = 'waiting')
  execute function carillon.tally_ended();


-- Occurrences that another installation had are no work of this one.
create trigger passed_over_tally after insert on carillon.passed_over for each row when (new.reason <> 'moved')
  execute function carillon.tally_passed();


create trigger jobs_tally_withdrawn after delete on carillon.jobs referencing old table as old_jobs
  for each statement execute function carillon.tally_withdrawn();


create trigger passed_over_tally_withdrawn after delete on carillon.passed_over for each row when (old.reason <> 'moved')
  execute function carillon.tally_unpassed();


create trigger schedules_tally_made after insert on carillon.schedules referencing new table as new_schedules
  for each statement execute function carillon.tally_schedules();


create trigger schedules_tally_changed after update on carillon.schedules referencing old table as old_schedules new table as new_schedules
  for each statement execute function carillon.tally_schedules();


create trigger schedules_tally_gone after delete on carillon.schedules referencing old table as old_schedules
  for each statement execute function carillon.tally_schedules();

-- safe: what the previous release writes asks for no pulse, and has no row there: it looks for one and does nothing
create trigger schedule_versions_pulse after insert on carillon.schedule_versions referencing new table as written
  for each statement execute function carillon.follow_pulses();

-- safe: the previous release deletes none of them
create trigger schedules_pulse_gone after delete on carillon.schedules referencing old table as gone
  for each statement execute function carillon.forget_pulses();

-- safe: the previous release writes none of these rows
create trigger pulses_passed_tally after insert on carillon.pulses_passed for each row when (new.count is null)
  execute function carillon.tally_pulses_passed();

-- Nearly every job is made and settled within a day of its occurrence: the condition is all that it pays, and it asks Postgres's own clock,
-- which costs a hundredth of what carillon.clock() does.
-- safe: it writes beside what the previous release writes, and refuses nothing
create trigger jobs_stirred after insert or update on carillon.jobs for each row
  when (new.occurrence < transaction_timestamp() - interval '24 hours')
  execute function carillon.note_stirred();

-- safe: it adds the target and the team to rows that the previous release writes, and refuses none
create trigger backlog_named before insert on carillon.backlog for each row execute function carillon.name_backlog_line();

-- safe: the same
create trigger schedules_backlog_moved after update of target_id, queue, team_id on carillon.schedules
  for each row when (old.target_id is distinct from new.target_id or old.queue <> new.queue or old.team_id is distinct from new.team_id) execute function carillon.move_backlog();
