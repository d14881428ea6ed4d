import { connect, type Sql } from "../../../lib/db/connect.ts";
import { silentLog } from "../../../lib/log/log.ts";
import { tick, tickDefaults } from "../../../lib/tick/tick.ts";
import type { BenchStack } from "../bench-stack.ts";
import { answeringClient, sqsCarrier } from "../drain-carrier.ts";
import type { Destination } from "../drain-fill.ts";
import { toHandler, toQueue, work } from "../drain-work.ts";
import { perSecond } from "../report.ts";
import { prefixOf } from "./seed-teams.ts";

export interface FairnessCase {
  /** Whether the large team has its jobs due at the instant, and the small one its jobs a second. */
  large: boolean;
  small: boolean;
  /** Whether the schedules have their teams. Without them all jobs travel as before teams existed. */
  fair: boolean;
}

export interface FairnessParams {
  destination: Destination;
  /** The jobs of the large team, due at one instant. */
  jobs: number;
  /** Jobs of the small team in a second, for so many seconds from that instant on. */
  rate: number;
  seconds: number;
  workers: number;
}

export interface FairnessRun extends FairnessCase {
  /** The lateness of the small team's jobs. */
  p50Ms: number | null;
  p99Ms: number | null;
  maxMs: number | null;
  /**
   * Jobs of both teams a second, from the instant until those are done that were due before the
   * last job of the large team had ended: without fairness the jobs of the small team come after.
   * Null without the large team.
   */
  total: number | null;
  /** Jobs of the case were not done when the next began, so its figures count for nothing. */
  overlaps: boolean;
}

/**
 * From the tick to the first instant. Messages that are sent more than a minute ahead arrive at
 * their moment, and all of a usual tick are.
 */
const aheadMs = 95_000;
/** The horizon of a tick is three minutes. */
const allMs = 170_000;

/**
 * One tick makes the jobs of all cases, each with an instant of its own, and workers run until all
 * are settled.
 */
export async function runCases(
  stack: BenchStack,
  params: FairnessParams,
  cases: readonly FairnessCase[],
): Promise<FairnessRun[]> {
  const { sql } = stack;
  const carrier = sqsCarrier(stack.queue);
  await carrier.clear();
  const instants = await planAll(sql, params, cases);
  const ticked = await tick({ sql, queue: carrier.queue, log: silentLog }, tickDefaults, () => false);
  if (Date.now() > (instants[0]?.getTime() ?? 0))
    throw new Error("The tick took too long for this machine: choose fewer --jobs.");
  const transactions = connect(stack.env, { max: 2 });
  try {
    const deliver =
      params.destination === "handler"
        ? toHandler(sql, transactions, carrier)
        : toQueue(answeringClient(() => {}));
    const queueClass = params.destination === "handler" ? "slow" : "fast";
    await work({ sql, carrier, deliver }, { queueClass, jobs: ticked.jobs, workers: params.workers });
  } finally {
    await transactions.end();
  }
  const runs: FairnessRun[] = [];
  for (const [index, each] of cases.entries()) {
    const [at, next] = [instants[index] ?? new Date(0), instants[index + 1] ?? null];
    runs.push({ ...each, ...(await measured(sql, params, each, { at, next })) });
  }
  return runs;
}

/** Plan rows for the teams of each case, and none for other schedules. Returns the instants. */
async function planAll(sql: Sql, params: FairnessParams, cases: readonly FairnessCase[]): Promise<Date[]> {
  await sql`delete from carillon.plan`;
  // Rolls up what the workers have noted, so that the packing knows the cost of a job.
  await tick({ sql, queue: noQueue, log: silentLog }, tickDefaults, () => false);
  await sql`update carillon.shards set watermark_at = carillon.clock(), watermark_schedule = 0`;
  const between = (allMs - aheadMs) / cases.length;
  const begin = Math.ceil(Date.now() / 1_000) * 1_000 + aheadMs;
  const instants = cases.map((_, index) => new Date(begin + index * between));
  for (const [index, each] of cases.entries())
    await planCase(sql, params, each, instants[index] ?? new Date());
  await sql`checkpoint`;
  return instants;
}

async function planCase(
  sql: Sql,
  { destination, jobs, rate, seconds }: FairnessParams,
  { large, small, fair }: FairnessCase,
  at: Date,
): Promise<void> {
  const of = (name: "a" | "b") => sql`starts_with(s.key, ${prefixOf(destination, name, fair)})`;
  await sql`
    insert into carillon.plan (due_at, occurrence, schedule_id, every_ms, version, shard)
    select c.due_at, c.due_at, c.id, 86400000, 1, c.shard from (
      (select s.id, s.shard, ${at}::timestamptz as due_at from carillon.schedules s where ${of("a")} order by s.id limit ${large ? jobs : 0})
      union all
      (select s.id, s.shard, ${at}::timestamptz + (row_number() over (order by s.id) - 1) * interval '1 second' / ${rate}::int
        from carillon.schedules s where ${of("b")} order by s.id limit ${small ? rate * seconds : 0})) c`;
}

const noQueue = {
  sqs: answeringClient(() => {}),
  urls: { fast: "http://none.test/fast", slow: "http://none.test/slow" },
  log: silentLog,
  timing: { now: Date.now, sleep: async () => {} },
};

async function measured(
  sql: Sql,
  { destination, jobs, rate, seconds }: FairnessParams,
  { large, small, fair }: FairnessCase,
  { at, next }: { at: Date; next: Date | null },
) {
  const [row] = await sql<
    {
      done: number;
      p50Ms: number | null;
      p99Ms: number | null;
      maxMs: number | null;
      counted: number;
      ms: number | null;
      ended: Date | null;
    }[]
  >`
    with done as materialized (
      select starts_with(s.key, ${prefixOf(destination, "b", fair)}) as small, j.finished_at, j.due_at,
        (extract(epoch from j.started_at - j.due_at) * 1000)::float8 as late
      from carillon.jobs j join carillon.schedules s on s.id = j.schedule_id
      where j.occurrence >= ${at} and j.occurrence < coalesce(${next}::timestamptz, 'infinity') and j.state = 'succeeded'
    ), cleared as (
      select count(*)::int as jobs, max(finished_at) as at from done where due_at <= (select max(finished_at) from done where not small)
    )
    select count(*)::int as done, percentile_disc(0.5) within group (order by late) filter (where small) as "p50Ms",
      percentile_disc(0.99) within group (order by late) filter (where small) as "p99Ms", max(late) filter (where small) as "maxMs",
      (select jobs from cleared) as counted, max(finished_at) as ended,
      (extract(epoch from (select at from cleared) - ${at}::timestamptz) * 1000)::float8 as ms
    from done`;
  const planned = (large ? jobs : 0) + (small ? rate * seconds : 0);
  if (row?.done !== planned) throw new Error(`${row?.done} of ${planned} jobs are done.`);
  const { p50Ms, p99Ms, maxMs, counted, ms, ended } = row;
  const overlaps = next !== null && ended !== null && ended > next;
  return { p50Ms, p99Ms, maxMs, total: ms === null ? null : perSecond(counted, ms), overlaps };
}
