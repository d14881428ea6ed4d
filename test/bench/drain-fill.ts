import type { Sql } from "../../lib/db/connect.ts";
import { silentLog } from "../../lib/log/log.ts";
import type { ParcelQueue } from "../../lib/parcel/parcel-queue.ts";
import { shardCount } from "../../lib/plan/shard.ts";
import { tick, tickDefaults } from "../../lib/tick/tick.ts";

/** The handler and the queue that this bench's schedules name. */
export const benchHandler = "bench-nothing";
export const benchSink = "bench-sink";

export type Destination = "queue" | "handler";

const targets = {
  queue: { name: `queue/${benchSink}`, class: "fast", target: { queue: benchSink } },
  handler: { name: `handler/${benchHandler}`, class: "slow", target: { handler: benchHandler } },
} as const;

/**
 * Daily schedules with one destination, so that each has one occurrence in the duration of a bench.
 */
export async function seedDestination(sql: Sql, destination: Destination, count: number): Promise<void> {
  const { name, class: queue, target } = targets[destination];
  const prefix = `drain-${destination}:`;
  const [{ have } = { have: 0 }] = await sql<{ have: number }[]>`
    select count(*)::int as have from carillon.schedules where starts_with(key, ${prefix})`;
  await sql`
    with made as (
      insert into carillon.schedules (shard, queue, key, target_kind, target_id, created_at, created_by, updated_at, updated_by)
      select i % ${shardCount}::int, ${queue}, ${prefix} || i, ${destination}, carillon.target_named(${name}), carillon.clock(), 'bench',
        carillon.clock(), 'bench'
      from generate_series(${have + 1}::int, ${count}::int) i
      returning id
    )
    insert into carillon.schedule_versions (schedule_id, version, change, changed_at, changed_by, spec_version, held, first_at, every_ms, body, target, payload)
    select id, 1, 'created', carillon.clock(), 'bench', 1, false, carillon.clock(), 86400000, '{"when":"every 1d"}',
      ${JSON.stringify(target)}::text::jsonb, jsonb_build_object('n', id)
    from made`;
  await sql`vacuum (analyze) carillon.schedules`;
  await sql`vacuum (analyze) carillon.schedule_versions`;
}

interface Due {
  destination: Destination;
  jobs: number;
  /** Whether the packing knows the target's recent cost per job. */
  known: boolean;
}

/**
 * Makes jobs that are already due, so that no message waits; the tick makes and packs them as
 * usual. Returns their occurrence. Their next plan rows are a day ahead, and plan rows of other
 * schedules are deleted, so that no uncounted job is made.
 */
export async function fill(
  { sql, queue }: { sql: Sql; queue: ParcelQueue },
  { destination, jobs, known }: Due,
): Promise<Date> {
  await sql`delete from carillon.plan`;
  // Earlier tallies are rolled up first, so that the packing knows the cost of a job of this
  // target.
  await tick({ sql, queue, log: silentLog }, tickDefaults, () => false);
  if (!known) await sql`update carillon.targets set cost_ms = null where name = ${targets[destination].name}`;
  const [planned] = await sql<{ at: Date; rows: number }[]>`
    with due as (select carillon.clock() - interval '1 minute' as at),
    behind as (update carillon.shards set watermark_at = carillon.clock() - interval '2 minutes', watermark_schedule = 0),
    rows as (
      insert into carillon.plan (due_at, occurrence, schedule_id, every_ms, version, shard)
      select due.at, due.at, s.id, 86400000, 1, s.shard from due, (
        select id, shard from carillon.schedules where starts_with(key, ${`drain-${destination}:`}) order by random() limit ${jobs}) s
      returning occurrence
    )
    select max(occurrence) as at, count(*)::int as rows from rows`;
  if (planned === undefined || planned.rows !== jobs)
    throw new Error(`${planned?.rows} of ${jobs} jobs have a schedule.`);
  const ticked = await tick({ sql, queue, log: silentLog }, tickDefaults, () => false);
  if (ticked.jobs !== jobs) throw new Error(`The tick made ${ticked.jobs} jobs of ${jobs} plan rows.`);
  return planned.at;
}
