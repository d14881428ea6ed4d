import type { Sql } from "../../lib/db/connect.ts";
import { shardCount } from "../../lib/plan/shard.ts";
import type { Say } from "./report.ts";

const chunk = 250_000;

/** Brings the tables to `count` schedules: half intervals, half crons over 500 expressions, each next due days from now. */
export async function seedSchedules(sql: Sql, count: number, say: Say): Promise<void> {
  const [{ have } = { have: 0 }] = await sql<
    { have: number }[]
  >`select count(*)::int as have from carillon.schedules`;
  if (have >= count) return;
  say(`storing ${(count - have).toLocaleString("en")} schedules …`);
  await sql`
    insert into carillon.cadences (expression, timezone)
    select format('%s %s * * *', i % 60, i / 60), 'UTC' from generate_series(0, 499) i on conflict do nothing`;
  for (let from = have + 1; from <= count; from += chunk)
    await seedChunk(sql, from, Math.min(count, from + chunk - 1));
  await sql`vacuum (analyze) carillon.schedules`;
  await sql`vacuum (analyze) carillon.schedule_versions`;
  await sql`vacuum (analyze) carillon.plan_far`;
}

async function seedChunk(sql: Sql, from: number, to: number): Promise<void> {
  await sql`
    with ids as (select nextval('carillon.schedules_id_seq') as id, i from generate_series(${from}::int, ${to}::int) i),
    crons as (select array_agg(id order by id) as ids from carillon.cadences),
    made as (
      insert into carillon.schedules (id, shard, queue, key, target_kind, created_at, created_by, updated_at, updated_by)
      select id, id % ${shardCount}::int, 'fast', 'bench:' || md5(i::text), 'queue', carillon.clock(), 'bench', carillon.clock(), 'bench' from ids
    ), specs as (
      insert into carillon.schedule_versions (schedule_id, version, change, changed_at, changed_by, spec_version, held, first_at, every_ms, cadence_id,
        body, target, payload)
      select id, 1, 'created', carillon.clock(), 'bench', 1, false, case when i % 2 = 0 then carillon.clock() end,
        case when i % 2 = 0 then 3600000 + i % 1000 * 60000 end, case when i % 2 = 1 then crons.ids[1 + i % 500] end,
        '{"when":"every 1h"}', '{"queue":"bench"}', jsonb_build_object('n', i) from ids, crons
    )
    insert into carillon.plan_far (due_at, occurrence, schedule_id, every_ms, version, cadence_id, shard)
    select at, at, id, case when i % 2 = 0 then 3600000 + i % 1000 * 60000 end, 1, case when i % 2 = 1 then crons.ids[1 + i % 500] end, id % ${shardCount}::int
    from ids, crons, lateral (select carillon.clock() + interval '30 days' + i % 86400 * interval '1 second' as at) due`;
}

/**
 * Makes `due` schedules, scattered over all ids, due at one instant. The plan is insert-only, so a second row for a
 * schedule is as good as its first. What fires is the plan row, whatever instants its cadence names.
 */
export async function seedDue(
  sql: Sql,
  { due, schedules, run, at }: { due: number; schedules: number; run: number; at: Date },
): Promise<number> {
  const made = await sql`
    insert into carillon.plan (due_at, occurrence, schedule_id, every_ms, version, cadence_id, shard)
    select ${at}, ${at}, s.id, v.every_ms, 1, v.cadence_id, s.shard
    from (select id, shard from carillon.schedules
          where id in (select 1 + (i::bigint * 2654435761 + ${run}::bigint * 40503) % ${schedules}::bigint from generate_series(1, ${due}::int) i)) s
    join carillon.schedule_versions v on v.schedule_id = s.id and v.version = 1
    order by random()`;
  return made.count;
}
