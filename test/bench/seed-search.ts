import type { Sql } from "../../lib/db/connect.ts";

const chunk = 250_000;

/**
 * Schedules of which some filters match a third and others a few, scattered over all keys: half
 * have intervals, a fifth have ended. Also dead jobs of a few schedules, one with thousands, and a
 * day of settled jobs with some open ones. At the database's clock.
 */
export async function seedSearch(
  sql: Sql,
  { schedules, jobs }: { schedules: number; jobs: number },
): Promise<void> {
  await sql`
    select carillon.attach_days((carillon.clock() at time zone 'UTC')::date - 2, (carillon.clock() at time zone 'UTC')::date + 3)`;
  // No tick runs while tables are filled and searched.
  await sql`
    update carillon.shards set watermark_at = carillon.clock() + interval '1 hour', reached_at = carillon.clock() + interval '1 hour',
      near_until = date_trunc('day', carillon.clock() at time zone 'UTC') at time zone 'UTC' + interval '3 days'`;
  await sql`
    insert into carillon.targets (name) select name from (
      select 'queue/bench' as name union all select 'queue/rare' union all select 'handler/bench'
      union all select 'webhook/host' || i || '.example.com' from generate_series(0, 499) i) t`;
  await sql`
    insert into carillon.calendars (name, created_at, created_by, updated_at, updated_by)
    select name, carillon.clock(), 'bench', carillon.clock(), 'bench' from unnest(array['common', 'rare']) name`;
  for (let from = 1; from <= schedules; from += chunk)
    await seedChunk(sql, from, Math.min(schedules, from + chunk - 1));
  await seedJobs(sql, schedules, jobs);
  await sql`select setval('carillon.schedules_id_seq', ${schedules})`;
}

async function seedChunk(sql: Sql, from: number, to: number): Promise<void> {
  await sql`
    with named as (select array_agg(id order by name) filter (where name like 'webhook/%') as hosts,
      min(id) filter (where name = 'queue/bench') as bench, min(id) filter (where name = 'queue/rare') as rare from carillon.targets),
    calendars as (select min(id) filter (where name = 'common') as common, min(id) filter (where name = 'rare') as seldom from carillon.calendars)
    insert into carillon.schedules (id, shard, queue, key, group_key, tags, target_kind, target_id, held_since, rule, phase, created_at, created_by, updated_at, updated_by, calendar_id)
    select n, n % 16, 'fast', chr(97 + (n % 20)::int) || ':' || md5(n::text), case when n % 4 = 0 then 'g' || n / 64 when n % 4 = 1 then 'huge' end,
      case when n % 30000 = 0 then '{rare,common}'::text[] when n % 3 = 0 then '{common}'::text[] else '{}'::text[] end,
      case when n % 10 = 0 then 'webhook' else 'queue' end,
      case when n % 10 = 0 then hosts[1 + n / 10 % 500] when n % 1999 = 0 then rare else bench end,
      case when n % 50 = 0 then carillon.clock() end,
      case when n % 5 = 0 then 0 else -864000000 end,
      case when n % 5 = 0 then (extract(epoch from carillon.clock()) * 1000)::bigint - 259200000
        else ((extract(epoch from carillon.clock()) * 1000)::bigint + n % 86400 * 10000) % 864000000 end,
      carillon.clock(), case when n % 20011 = 0 then 'rare' else 'often' || n % 3 end, carillon.clock(), 'bench',
      case when n % 20011 = 1 then seldom when n % 3 = 1 then common end
    from generate_series(${from}::bigint, ${to}::bigint) n, named, calendars`;
  await sql`
    insert into carillon.schedule_versions (schedule_id, version, change, changed_at, changed_by, spec_version, held, once_at, first_at, every_ms, body, target, payload)
    select n, 1, 'created', carillon.clock(), 'bench', 1, false, case when n % 5 = 0 then carillon.clock() - interval '3 days' end,
      case when n % 5 > 0 then carillon.clock() + (n % 86400) * interval '10 s' end, case when n % 5 > 0 then 864000000 end, '{"when": "every 10d"}',
      '{"queue": "bench"}', to_jsonb(n) from generate_series(${from}::bigint, ${to}::bigint) n`;
  await sql`
    insert into carillon.plan (due_at, occurrence, schedule_id, every_ms, version, shard)
    select v.first_at, v.first_at, n, 864000000, 1, n % 16 from generate_series(${from}::bigint, ${to}::bigint) n
    join carillon.schedule_versions v on v.schedule_id = n and v.version = 1 and v.first_at < carillon.clock() + interval '2 days'`;
  await sql`
    insert into carillon.plan_far (due_at, occurrence, schedule_id, every_ms, version, shard)
    select v.first_at, v.first_at, n, 864000000, 1, n % 16 from generate_series(${from}::bigint, ${to}::bigint) n
    join carillon.schedule_versions v on v.schedule_id = n and v.version = 1 and v.first_at >= carillon.clock() + interval '2 days'`;
}

async function seedJobs(sql: Sql, schedules: number, jobs: number): Promise<void> {
  await sql`
    insert into carillon.jobs (occurrence, schedule_id, due_at, version, state, attempt, started_at, finished_at, reason)
    select at, id, at, 1, case when i % 1000 = 0 then 'dead' else 'succeeded' end::carillon.job_state, 1, at, at, case when i % 1000 = 0 then 'attempts' end
    from generate_series(1, ${jobs}::int) i,
      lateral (select 1 + (i::bigint * 2654435761) % ${schedules}::bigint as id,
        date_trunc('second', carillon.clock()) - (i / 200) * interval '1 second' - interval '5 minutes' as at) o
    on conflict do nothing`;
  await sql`
    insert into carillon.dead_jobs (occurrence, schedule_id, kind, n, died_at)
    select occurrence, schedule_id, kind, n, occurrence from carillon.jobs where state = 'dead'`;
  await sql`
    insert into carillon.dead_jobs (occurrence, schedule_id, kind, n, died_at)
    select at, 7, 'cadence', 0, at from generate_series(1, 5000) i, lateral (select carillon.clock() - i * interval '10 seconds' as at) o
    on conflict do nothing`;
  await sql`
    with made as (
      insert into carillon.parcels (shard, queue, ready_at, offer_at, occurrences, schedule_ids)
      select i % 16, 'fast', at, at + interval '1 hour', array[at], array[id]
      from generate_series(1, 1000) i, lateral (select 1 + (i::bigint * 40503) % ${schedules}::bigint as id,
        date_trunc('second', carillon.clock()) - i % 150 * interval '1 second' as at) o
      returning id, occurrences[1] as at, schedule_ids[1] as schedule)
    insert into carillon.jobs (occurrence, schedule_id, due_at, version, parcel_id) select at, schedule, at, 1, id from made
    on conflict do nothing`;
}
