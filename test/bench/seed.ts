import type { Sql, Tx } from "../../lib/db/connect.ts";
import { shardCount } from "../../lib/plan/shard.ts";
import type { Say } from "./report.ts";

const chunk = 250_000;
/** From this number of schedules on, rebuilding the indexes is quicker than updating them. */
const manyMin = 1_000_000;
const tables = ["schedules", "schedule_versions", "plan_far"];

interface Chunk {
  from: number;
  to: number;
  /** Their plan is that of their cadences. */
  isTrue: boolean;
}

/**
 * Fills the tables up to `count` schedules: half intervals, half crons with 500 expressions, each
 * next due in days. With `isTrue` all are intervals of which every view tells the same.
 */
export async function seedSchedules(
  sql: Sql,
  count: number,
  say: Say,
  { isTrue = false }: { isTrue?: boolean } = {},
): Promise<void> {
  await restoreIndexes(sql, say);
  const [{ have, last } = { have: 0, last: 0 }] = await sql<{ have: number; last: number }[]>`
    select count(*)::int as have, coalesce(max(id), 0)::int as last from carillon.schedules`;
  if (have >= count) return;
  say(`storing ${(count - have).toLocaleString("en")} schedules …`);
  await sql`
    insert into carillon.cadences (expression, timezone)
    select format('%s %s * * *', i % 60, i / 60), 'UTC' from generate_series(0, 499) i on conflict do nothing`;
  if (count - have >= manyMin) await setIndexesAside(sql);
  const until = last + count - have;
  for (let from = last + 1; from <= until; from += chunk)
    await seedChunk(sql, { from, to: Math.min(until, from + chunk - 1), isTrue });
  await restoreIndexes(sql, say);
  for (const table of tables) await sql.unsafe(`vacuum (analyze) carillon.${table}`);
}

/**
 * Stores these schedules without triggers and foreign keys, which cost more than the rows. The
 * counts that the triggers would have updated are written here.
 */
function seedChunk(sql: Sql, { from, to, isTrue }: Chunk): Promise<void> {
  return sql.begin(async (tx) => {
    const cadences = isTrue ? trueCadences(tx, from, to) : mixedCadences(tx, from, to);
    await tx`set local session_replication_role = replica`;
    await tx`set local synchronous_commit = off`;
    const [{ target } = { target: 0 }] = await tx<
      { target: number }[]
    >`select carillon.target_named('queue/bench') as target`;
    await tx`
      insert into carillon.schedules (id, shard, queue, key, target_kind, target_id, rule, phase, created_at, created_by, updated_at, updated_by)
      select id, id % ${shardCount}::int, 'fast', 'bench:' || md5(id::text), 'queue', ${target}, coalesce(cadence_id, -every_ms),
        coalesce((extract(epoch from first_at) * 1000)::bigint % every_ms, 0), made_at, 'bench', made_at, 'bench'
      from (${cadences}) seeded`;
    await tx`
      insert into carillon.schedule_versions (schedule_id, version, change, changed_at, changed_by, spec_version, held, first_at, every_ms, cadence_id,
        body, target, payload)
      select id, 1, 'created', made_at, 'bench', 1, false, first_at, every_ms, cadence_id,
        jsonb_build_object('when', shown), '{"queue":"bench"}', jsonb_build_object('n', id)
      from (${cadences}) seeded`;
    await tx`
      insert into carillon.plan_far (due_at, occurrence, schedule_id, every_ms, version, cadence_id, shard)
      select at, at, id, every_ms, 1, cadence_id, id % ${shardCount}::int
      from (${cadences}) seeded, lateral (select ${isTrue ? tx`first_at` : farOff(tx)} as at) due`;
    await tx`insert into carillon.schedule_tallies (schedules, held) values (${to - from + 1}, 0)`;
    await tx`select setval('carillon.schedules_id_seq', ${to}::bigint)`;
  });
}

/** The next occurrence of each, so that none is due while something is measured. */
const farOff = (tx: Tx) => tx`now() + interval '30 days' + id % 86400 * interval '1 second'`;

/** Half intervals, half crons, whose next occurrence is far off whatever their cadence says. */
function mixedCadences(tx: Tx, from: number, to: number) {
  return tx`
    select id, case when id % 2 = 0 then 3600000 + id % 1000 * 60000 end as every_ms, case when id % 2 = 1 then crons.ids[1 + id % 500] end as cadence_id,
      case when id % 2 = 0 then now() end as first_at, now() as made_at, 'every 1h' as shown
    from (select array_agg(id order by id) as ids from carillon.cadences) crons, generate_series(${from}::bigint, ${to}::bigint) id`;
}

/**
 * Intervals of 31 days and more, made within the last day. Each first occurs one interval after it was
 * made, so its cadence gives no occurrence between now and then.
 */
function trueCadences(tx: Tx, from: number, to: number) {
  return tx`
    select id, minutes * 60000 as every_ms, null::int as cadence_id, made_at + minutes * interval '1 minute' as first_at, made_at, 'every ' || minutes || 'm' as shown
    from generate_series(${from}::bigint, ${to}::bigint) id,
      lateral (select 44640 + id % 1000 as minutes, now() - id % 86400 * interval '1 second' as made_at) m`;
}

/**
 * Drops the indexes. Their definitions are kept in a table, so that the next seeding can restore
 * them if this one is interrupted.
 */
async function setIndexesAside(sql: Sql): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`create table public.indexes_aside (name text, definition text)`;
    const indexes = await tx<{ name: string }[]>`
      insert into public.indexes_aside
      select c.relname, pg_get_indexdef(i.indexrelid)
      from pg_index i join pg_class c on c.oid = i.indexrelid
      where i.indrelid = any(${tables.map((table) => `carillon.${table}`)}::text[]::regclass[]) and not i.indisprimary
      returning name`;
    for (const { name } of indexes) await tx.unsafe(`drop index carillon.${name}`);
  });
}

async function restoreIndexes(sql: Sql, say: Say): Promise<void> {
  const [{ aside } = { aside: null }] = await sql<
    { aside: string | null }[]
  >`select to_regclass('public.indexes_aside')::text as aside`;
  if (aside === null) return;
  say("building the indexes …");
  for (const { definition } of await sql<
    { definition: string }[]
  >`select definition from public.indexes_aside`)
    await sql.unsafe(definition.replace(/^create( unique)? index /i, "create$1 index if not exists "));
  await sql`drop table public.indexes_aside`;
}

/**
 * Makes `due` schedules, scattered over all ids, due at one instant. The plan is insert-only, so a
 * second row for a schedule works like its first. The plan row decides the instant, not the
 * cadence.
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
