-- One database role per function, with the rights that its statements need and no more. The roles cannot log in: the deployment gives them a
-- login (IAM in AWS, a password locally). Roles belong to the whole server, so another database of it may have made them already.
do $$
declare
  v_role text;
begin
  foreach v_role in array array['carillon_tick', 'carillon_worker', 'carillon_api', 'carillon_handler', 'carillon_ingest', 'carillon_archive', 'carillon_caller'] loop
    begin
      execute format('create role %I nologin', v_role);
    exception when duplicate_object or unique_violation then null;
    end;
    -- A caller's role gets no settings: the callers' own roles have theirs.
    continue when v_role = 'carillon_caller';
    -- Settings belong to the role and not to the session, so that RDS Proxy has nothing to pin. A statement that hangs ends before it keeps a
    -- shard's locks for long. Compiling plans costs more than the short statements here take.
    execute format('alter role %I in database %I set jit = off', v_role, current_database());
    execute format('alter role %I in database %I set lock_timeout = %L', v_role, current_database(), '5s');
    execute format('alter role %I in database %I set statement_timeout = %L', v_role, current_database(),
      case v_role when 'carillon_tick' then '40s' when 'carillon_api' then '6s' else '10s' end);
    execute format('alter role %I in database %I set idle_in_transaction_session_timeout = %L', v_role, current_database(), '10s');
    -- The functions that run the same few statements all day keep their plans. A plan may be made while a table is small and kept while it grows
    -- by thousands a second, until the table is analyzed: so it walks an index from the beginning, as every statement here is written to do.
    if v_role in ('carillon_api', 'carillon_worker', 'carillon_handler', 'carillon_ingest') then
      execute format('alter role %I in database %I set enable_seqscan = off', v_role, current_database());
    end if;
  end loop;
end $$;

-- Handlers: what a worker may do, and edits, which handlers make in their own transactions. The ingest function: the same, and its own tables.
grant carillon_worker to carillon_handler;
grant carillon_handler to carillon_ingest;

grant usage on schema carillon
  to carillon_tick, carillon_worker, carillon_api, carillon_handler, carillon_ingest, carillon_archive, carillon_caller;
revoke execute on all functions in schema carillon from public;

-- carillon_api
grant execute on function carillon.keep_team, carillon.note_usage, carillon.per_year_of, carillon.quota_usage, carillon.message_group, carillon.message_groups, carillon.one_team to carillon_api;
grant select on carillon.quota_limits, carillon.team_list, carillon.teams, carillon.usage to carillon_api;
grant select on carillon.cursor_key to carillon_api;
grant execute on function carillon.add_to_entry, carillon.apart_target, carillon.attach_days,
  carillon.attach_missing_days, carillon.cancel_jobs, carillon.clock, carillon.define_limits,
  carillon.end_bulk, carillon.foreign_locks, carillon.forget_failures, carillon.hand_over_lanes, carillon.join_parcel,
  carillon.keep_cadence, carillon.lane_for, carillon.lane_of, carillon.lanes_of,
  carillon.lateness_bucket, carillon.leave_lanes, carillon.lock_lanes, carillon.lock_parcels_of, carillon.parcels_of,
  carillon.lock_target, carillon.mark_sent,
  carillon.note_grouped, carillon.note_jobs_of_pulse, carillon.parcel_jobs, carillon.renew_turns,
  carillon.retry_jobs, carillon.side_by_side, carillon.take_request_seat, carillon.target_named, carillon.tells,
  carillon.turn_place to carillon_api;
grant usage on sequence carillon.audit_id_seq, carillon.cadences_id_seq,
  carillon.calendar_versions_id_seq, carillon.calendars_id_seq, carillon.parcels_id_seq,
  carillon.schedules_id_seq, carillon.shared_hold_revisions to carillon_api;
grant select on carillon.attempts, carillon.error_groups, carillon.lifecycle, carillon.migrations,
  carillon.minute_lateness, carillon.minute_pulse_lateness, carillon.minutes,
  carillon.pulse_targets, carillon.pulses, carillon.pulses_passed, carillon.retention,
  carillon.schedule_counts, carillon.schedule_tallies, carillon.shards, carillon.zone_data,
  carillon.zone_moves, carillon.zone_updates to carillon_api;
grant insert, select on carillon.audit, carillon.cadences, carillon.calendar_versions,
  carillon.job_requests, carillon.jobs_beside, carillon.outbox, carillon.plan, carillon.plan_far,
  carillon.schedule_versions, carillon.tallies to carillon_api;
grant delete, insert, select, update on carillon.backlog, carillon.calendar_turns, carillon.holds,
  carillon.idempotency, carillon.jobs, carillon.lane_entries, carillon.parcels, carillon.quarantine,
  carillon.shared_holds, carillon.tokens to carillon_api;
grant insert, select, update on carillon.calendars, carillon.command_marks,
  carillon.earlier_secrets, carillon.rate_buckets, carillon.schedules to carillon_api;
grant delete, select on carillon.dead_commands, carillon.dead_jobs, carillon.failure_runs,
  carillon.inbox, carillon.wanted_holds to carillon_api;
grant delete, insert, select on carillon.idempotency_steps, carillon.inbox_refusals,
  carillon.passed_over, carillon.schedule_tags to carillon_api;
grant select, update on carillon.targets to carillon_api;
grant select on carillon.taken_places to carillon_api;
grant select on carillon.outages, carillon.parcel_times to carillon_api;
grant delete, insert, select on carillon.sealing_keys to carillon_api;
grant usage on sequence carillon.sealing_keys_id_seq to carillon_api;
grant update (sealed_at) on carillon.sealing_keys to carillon_api;
grant update (target) on carillon.schedule_versions to carillon_api;
grant delete, insert, select, update on carillon.moved_schedules, carillon.moves to carillon_api;
grant insert, select, update on carillon.arrived_schedules to carillon_api;
grant update (moved_out) on carillon.team_list to carillon_api;
grant insert on carillon.attempts, carillon.failure_runs to carillon_api;

-- carillon_archive
grant execute on function carillon.clock, carillon.is_archived, carillon.look_at_day,
  carillon.past_days to carillon_archive;
grant insert, select, update on carillon.archived_days to carillon_archive;
grant select on carillon.attempts, carillon.jobs, carillon.migrations, carillon.schedules,
  carillon.stirred_days, carillon.targets to carillon_archive;
grant delete, insert, select, update on carillon.quarantine to carillon_archive;

-- carillon_caller
grant execute on function carillon.delete_schedule, carillon.enqueue_job, carillon.patch_schedule,
  carillon.pause_schedule, carillon.put_schedule, carillon.resume_schedule,
  carillon.send_command to carillon_caller;
grant select on carillon.inbox_errors, carillon.inbox_status to carillon_caller;

-- carillon_handler
grant execute on function carillon.keep_team, carillon.message_group, carillon.message_groups, carillon.note_usage, carillon.one_team, carillon.per_year_of to carillon_handler;
grant select on carillon.quota_limits, carillon.team_list, carillon.teams, carillon.usage to carillon_handler;
grant execute on function carillon.apart_target, carillon.attach_days,
  carillon.attach_missing_days, carillon.cancel_jobs, carillon.claim_events, carillon.clock,
  carillon.forget_failures, carillon.hand_over_lanes, carillon.join_parcel, carillon.keep_cadence,
  carillon.lane_for, carillon.lane_of, carillon.lanes_of, carillon.leave_lanes,
  carillon.lock_lanes, carillon.lock_parcels_of, carillon.parcels_of, carillon.note_grouped, carillon.parcel_jobs,
  carillon.retry_jobs, carillon.side_by_side, carillon.take_request_seat, carillon.target_named, carillon.tells,
  carillon.turn_place to carillon_handler;
grant usage on sequence carillon.audit_id_seq, carillon.backlog_id_seq, carillon.cadences_id_seq,
  carillon.calendar_versions_id_seq, carillon.calendars_id_seq, carillon.outbox_id_seq,
  carillon.parcels_id_seq, carillon.schedules_id_seq, carillon.shared_hold_revisions,
  carillon.targets_id_seq, carillon.wanted_holds_id_seq, carillon.zone_moves_id_seq,
  carillon.zone_updates_id_seq to carillon_handler;
grant select on carillon.attempts, carillon.lifecycle, carillon.migrations,
  carillon.minute_lateness, carillon.minute_pulse_lateness, carillon.minutes,
  carillon.pulse_targets, carillon.pulses, carillon.pulses_passed, carillon.retention,
  carillon.schedule_counts, carillon.schedule_tallies, carillon.shards, carillon.targets,
  carillon.zone_data, carillon.zone_moves, carillon.zone_updates to carillon_handler;
grant insert, select on carillon.audit, carillon.cadences, carillon.calendar_versions,
  carillon.job_requests, carillon.jobs_beside, carillon.outbox, carillon.plan, carillon.plan_far,
  carillon.schedule_versions, carillon.tallies to carillon_handler;
grant delete, insert, select, update on carillon.backlog, carillon.calendar_turns, carillon.holds,
  carillon.jobs, carillon.lane_entries, carillon.parcels, carillon.quarantine,
  carillon.shared_holds to carillon_handler;
grant insert, select, update on carillon.calendars, carillon.schedules to carillon_handler;
grant delete, select on carillon.dead_jobs, carillon.failure_runs,
  carillon.wanted_holds to carillon_handler;
grant delete, insert, select on carillon.passed_over, carillon.schedule_tags to carillon_handler;
grant select on carillon.moved_schedules, carillon.moves, carillon.parcel_times, carillon.sealing_keys to carillon_handler;

-- carillon_ingest
grant execute on function carillon.keep_cadence to carillon_ingest;
grant insert, select, update on carillon.command_marks to carillon_ingest;
grant delete, insert, select, update on carillon.dead_commands to carillon_ingest;
grant select on carillon.pulse_targets, carillon.pulses, carillon.pulses_passed to carillon_ingest;

-- carillon_tick
grant execute on function carillon.keep_team, carillon.note_usage, carillon.per_year_of, carillon.quota_usage, carillon.assign_team, carillon.recount_usage, carillon.message_group, carillon.message_groups, carillon.one_team to carillon_tick;
grant select on carillon.quota_limits, carillon.team_list, carillon.teams, carillon.usage to carillon_tick;
grant execute on function carillon.apart_target, carillon.attach_days,
  carillon.attach_missing_days, carillon.backlog_lines, carillon.claim_events, carillon.clock,
  carillon.drop_day_of_jobs, carillon.drop_day_of_plan, carillon.end_lease,
  carillon.end_lease_of_some, carillon.foreign_locks, carillon.forget_audit, carillon.forget_failures,
  carillon.forget_queue_sizes, carillon.hand_over_lanes, carillon.is_archived,
  carillon.join_parcel, carillon.keep_cadence, carillon.lane_for, carillon.lane_of,
  carillon.lanes_of, carillon.leave_lanes, carillon.leave_parcel, carillon.leave_places,
  carillon.lock_lanes, carillon.lock_parcels_of, carillon.parcels_of, carillon.look_at_day, carillon.make_pulse_parcels,
  carillon.mark_sent, carillon.next_turns, carillon.note_over, carillon.note_tick, carillon.oldest_transaction_ms,
  carillon.parcel_jobs, carillon.pass_purge, carillon.past_days, carillon.past_plan_days,
  carillon.pulse_seconds, carillon.purge_schedules, carillon.queues, carillon.queues_counted_empty,
  carillon.reclaim_cadences, carillon.reclaim_pulse_targets, carillon.reclaim_targets, carillon.roll_up,
  carillon.roll_up_schedules, carillon.roll_up_tallies, carillon.roll_up_work,
  carillon.roll_up_work_rows, carillon.side_by_side, carillon.spread_parcels, carillon.sweep_lanes,
  carillon.target_named, carillon.targets_to_reclaim, carillon.tells, carillon.turn_place,
  carillon.waiting_targets, carillon.write_parcels to carillon_tick;
grant usage on sequence carillon.audit_id_seq, carillon.cadences_id_seq, carillon.parcels_id_seq,
  carillon.schedules_id_seq, carillon.zone_moves_id_seq,
  carillon.zone_updates_id_seq to carillon_tick;
grant select on carillon.archived_days, carillon.cadence_round, carillon.calendar_versions,
  carillon.calendars, carillon.dead_jobs, carillon.migrations, carillon.moved_schedules, carillon.moves, carillon.pulse_target_round, carillon.pulse_targets,
  carillon.pulses, carillon.retention, carillon.stirred_days, carillon.target_round,
  carillon.sealing_keys, carillon.target_work, carillon.targets to carillon_tick;
grant insert, select on carillon.attempts, carillon.audit, carillon.cadences, carillon.jobs_beside,
  carillon.plan, carillon.schedule_versions to carillon_tick;
grant delete, insert, select, update on carillon.backlog, carillon.calendar_turns, carillon.command_marks,
  carillon.holds, carillon.jobs, carillon.lane_entries, carillon.minute_lateness, carillon.minute_pulse_lateness,
  carillon.minutes, carillon.outbox, carillon.parcels, carillon.quarantine,
  carillon.tallies to carillon_tick;
grant delete, select on carillon.dead_commands, carillon.failure_runs, carillon.inbox,
  carillon.shared_holds, carillon.wanted_holds to carillon_tick;
grant delete on carillon.idempotency to carillon_tick;
grant delete, insert, select on carillon.inbox_refusals, carillon.passed_over, carillon.plan_far,
  carillon.pulses_passed, carillon.schedule_tags, carillon.zone_data,
  carillon.zone_moves to carillon_tick;
grant select, update on carillon.lifecycle, carillon.schedule_counts,
  carillon.shards to carillon_tick;
grant delete, select, update on carillon.schedule_tallies to carillon_tick;
grant insert, select, update on carillon.schedules, carillon.zone_updates to carillon_tick;
grant update (replan_after, replan_again, replan_team) on carillon.calendars to carillon_tick;
grant update (lane) on carillon.schedules to carillon_tick;
grant update (members, reached) on carillon.shared_holds to carillon_tick;
grant update (regrouped_at) on carillon.targets to carillon_tick;
grant select (created_at, key, token_id) on carillon.idempotency to carillon_tick;

-- carillon_worker
grant execute on function carillon.attach_missing_days, carillon.beat_parcel,
  carillon.claim_company, carillon.claim_events, carillon.claim_parcel, carillon.claim_parcels,
  carillon.clock, carillon.define_limits, carillon.end_lease, carillon.end_lease_of_some,
  carillon.is_light, carillon.leave_lanes, carillon.leave_parcel, carillon.leave_places,
  carillon.divide_pulses, carillon.mark_sent, carillon.message_groups, carillon.move_some, carillon.payload_page, carillon.read_pulses,
  carillon.set_claim_aside, carillon.settle_job, carillon.settle_parcel, carillon.settle_parcels,
  carillon.settle_pulses, carillon.settle_some, carillon.tells to carillon_worker;
grant select on carillon.lifecycle, carillon.parcels, carillon.pulse_targets, carillon.pulses,
  carillon.targets to carillon_worker;
grant delete, insert, select, update on carillon.outbox to carillon_worker;
grant insert, select on carillon.pulses_passed to carillon_worker;
grant update (offer_at, offers, sent_at) on carillon.parcels to carillon_worker;
