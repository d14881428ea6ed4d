-- The rows and days of an empty database.

insert into carillon.lifecycle (events) values (array['dead', 'missed']);
insert into carillon.purges default values;
insert into carillon.cadence_round default values;
insert into carillon.target_round default values;
insert into carillon.pulse_target_round default values;
insert into carillon.heartbeat default values;
insert into carillon.team_list default values;
insert into carillon.cursor_key default values;
insert into carillon.schedule_counts (schedules, held) values (0, 0);
-- Nothing can have been dropped yet.
insert into carillon.retention (kept_from) values ('epoch');

do $$
declare
  v_today date := (carillon.clock() at time zone 'UTC')::date;
begin
  perform carillon.attach_days(v_today - 1, v_today + 3);
  insert into carillon.shards (id, watermark_at, watermark_schedule, reached_at, near_until)
  select shard, carillon.clock(), 9223372036854775807, carillon.clock(), (v_today + 3)::timestamp at time zone 'UTC'
  from generate_series(0, 15) shard;
end $$;

-- The planner gets no statistics of the queues, which are filled and emptied within a minute: any count would be wrong when it is used.
-- Counted while empty it is worst: the planner then expects one row, and reads an index from end to end. Without statistics it goes by
-- the number of pages. Autovacuum analyzes none of these tables; this is for an analyze by hand.
do $$
declare
  v_queue regclass;
  v_column name;
begin
  foreach v_queue in array carillon.queues() loop
    for v_column in select a.attname from pg_attribute a where a.attrelid = v_queue and a.attnum > 0 and not a.attisdropped loop
      execute format('alter table %s alter column %I set statistics 0', v_queue, v_column);
    end loop;
  end loop;
end $$;
