import type { Tx } from "../db/connect.ts";
import { databaseClock } from "../db/database-clock.ts";

/** A count; `more` if counting stopped at a limit. */
export interface Amount {
  count: number;
  more: boolean;
}

/** Quarantine entries, and since when the oldest counted one is in quarantine. */
export interface Quarantined extends Amount {
  oldestAt: Date | null;
}

/** The current state, read from tables that hold only open work. */
export interface Standing {
  now: Date;
  parcels: Amount;
  /** Jobs that are not running and not settled. */
  waiting: number;
  /** Waiting jobs whose time has come. */
  due: number;
  /** Waiting jobs that a tick has made ahead of their due time, and that no attempt has had. */
  ahead: number;
  /** Waiting jobs held back by a hold of their schedule. */
  held: number;
  running: number;
  /** Waiting jobs with at least one attempt. Estimated if there are more jobs than are read. */
  retrying: number;
  /** Since when the longest waiting job could have started. */
  oldestDueAt: Date | null;
  backlog: Amount;
  dead: Amount;
  quarantined: Quarantined;
  /** The slowest shard's plan has become jobs up to here. */
  plannedTo: Date;
  rolledUpAt: Date | null;
}

/**
 * Rows read of each table of open work. That is usually all of them; the limit matters in a large
 * backlog.
 */
const lookedAtMax = 100_000;

/** Largest number of quarantine entries counted. */
const quarantinedMax = 10_000;

/**
 * Up to this many jobs, all are read. If there are more, the counts come from their parcels, and
 * the number of retrying ones is estimated.
 */
export const lookedUpMax = 10_000;

/** Every statement counts as of the same time, so that no job is due that is not due yet at `now`. */
export async function readStanding(sql: Tx): Promise<Standing> {
  const now = await databaseClock(sql);
  const [listed, rest] = await Promise.all([readParcels(sql, now), readRest(sql)]);
  const { parcels, ...jobs } = listed;
  const few = jobs.waiting + jobs.running <= lookedUpMax;
  const open = few ? await readJobs(sql, now) : { ...jobs, retrying: await readRetrying(sql) };
  return { now, parcels, ...open, ...rest };
}

type OpenJobs = Pick<Standing, "waiting" | "due" | "ahead" | "held" | "running" | "oldestDueAt">;

/**
 * A parcel that waits for its turn at a target has no time at which it is ready: `turn_at` is its
 * position in the queue, moved by its priority. `since` takes the priority out again.
 */
const openParcels = (sql: Tx, now: Date) => sql`
  select p.id, p.occurrences, p.schedule_ids, p.kinds, p.ns, cardinality(p.occurrences) as jobs,
    p.lease_until is not null as leased, p.held_schedule is not null and p.ready_at > ${now} as held,
    p.ready_at < 'infinity' as timed, ${now}::timestamptz as now,
    case when p.turn = 'waits' then p.turn_at - coalesce(p.priority, 0) * interval '10 minutes' else p.ready_at end as since
  from carillon.parcels p limit ${lookedAtMax + 1}::int`;

/**
 * Counts by the parcels' arrays: they still include jobs that were planned again, until the
 * parcel's time comes.
 */
async function readParcels(sql: Tx, now: Date): Promise<OpenJobs & Pick<Standing, "parcels">> {
  const [row] = await sql<(OpenJobs & { looked: number })[]>`
    select count(*)::int as looked,
      coalesce(sum(jobs) filter (where not leased), 0)::float8 as waiting,
      coalesce(sum(jobs) filter (where not leased and since <= now), 0)::float8 as due,
      coalesce(sum(jobs) filter (where not leased and not held and timed and since > now and kinds is null), 0)::float8 as ahead,
      coalesce(sum(jobs) filter (where held), 0)::float8 as held,
      coalesce(sum(jobs) filter (where leased), 0)::float8 as running,
      min(since) filter (where not leased and since <= now and jobs > 0) as "oldestDueAt"
    from (${openParcels(sql, now)}) p`;
  if (row === undefined) throw new Error("An aggregate without a row.");
  const { looked, ...jobs } = row;
  return { ...jobs, parcels: amount(looked) };
}

async function readJobs(sql: Tx, now: Date): Promise<OpenJobs & Pick<Standing, "retrying">> {
  const [row] = await sql<(OpenJobs & Pick<Standing, "retrying">)[]>`
    select count(*) filter (where not p.leased)::int as waiting,
      count(*) filter (where not p.leased and p.since <= p.now)::int as due,
      count(*) filter (where not p.leased and not p.held and p.timed and p.since > p.now and j.attempt = 0)::int as ahead,
      count(*) filter (where p.held)::int as held,
      count(*) filter (where p.leased)::int as running,
      count(*) filter (where not p.leased and j.attempt > 0)::int as retrying,
      min(p.since) filter (where not p.leased and p.since <= p.now) as "oldestDueAt"
    from (${openParcels(sql, now)}) p cross join lateral (${waitingJobs(sql)}) j`;
  if (row === undefined) throw new Error("An aggregate without a row.");
  return row;
}

/** The jobs of a parcel (p) that still belong to it. `unmoved` are those that start at their occurrence. */
export const waitingJobs = (sql: Tx) => sql`
  select j.attempt, j.unmoved, k.schedule_id from unnest(p.occurrences, p.schedule_ids, p.kinds, p.ns) k (occurrence, schedule_id, kind, n)
  cross join lateral (
    select j.attempt, j.kind = 'cadence' and j.attempt = 0 and j.due_at = j.occurrence as unmoved from carillon.jobs j
    where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = coalesce(k.kind, 'cadence') and j.n = coalesce(k.n, 0)
      and j.state = 'waiting' and j.parcel_id = p.id offset 0) j`;

async function readRest(
  sql: Tx,
): Promise<Pick<Standing, "backlog" | "dead" | "quarantined" | "plannedTo" | "rolledUpAt">> {
  const [row] = await sql<
    (Pick<Standing, "plannedTo" | "rolledUpAt"> &
      Pick<Quarantined, "oldestAt"> & {
        owing: number;
        rows: number;
        dead: number;
        aside: number;
      })[]
  >`
    select (select min(watermark_at) from carillon.shards) as "plannedTo",
      (select rolled_up_at from carillon.schedule_counts) as "rolledUpAt",
      (select count(*)::int from (select from carillon.dead_jobs limit ${lookedAtMax + 1}::int) d) as dead,
      b.owing, b.rows, q.aside, q."oldestAt"
    from (select coalesce(sum(owing), 0)::float8 as owing, count(*)::int as rows
      from (select owing from carillon.backlog limit ${lookedAtMax + 1}::int) b) b
    cross join (select count(*)::int as aside, min(first_at) as "oldestAt"
      from (select first_at from carillon.quarantine limit ${quarantinedMax + 1}::int) q) q`;
  if (row === undefined) throw new Error("An aggregate without a row.");
  const { owing, rows, dead, aside, oldestAt, ...rest } = row;
  return {
    ...rest,
    backlog: { count: owing, more: rows > lookedAtMax },
    dead: amount(dead),
    quarantined: { ...amount(aside, quarantinedMax), oldestAt },
  };
}

/**
 * The number of waiting jobs with at least one attempt. Parcels without kinds are left out: they
 * are unchanged since the tick made them, so none of their jobs has been attempted.
 */
async function readRetrying(sql: Tx): Promise<number> {
  const [row] = await sql<{ looked: number; listed: number; tried: number }[]>`
    with listed as materialized (
      select p.id, p.occurrences, p.schedule_ids, p.kinds, p.ns
      from (select * from carillon.parcels limit ${lookedAtMax}::int) p where p.kinds is not null and p.lease_until is null
    ), looked as materialized (
      select l.id, k.occurrence, k.schedule_id, k.kind, k.n
      from listed l cross join lateral unnest(l.occurrences, l.schedule_ids, l.kinds, l.ns) k (occurrence, schedule_id, kind, n)
      limit ${lookedUpMax}::int
    )
    select (select coalesce(sum(cardinality(occurrences)), 0)::float8 from listed) as listed,
      count(*)::int as looked, count(*) filter (where j.attempt > 0)::int as tried
    from looked k left join lateral (
      select j.attempt from carillon.jobs j
      where j.occurrence = k.occurrence and j.schedule_id = k.schedule_id and j.kind = k.kind and j.n = k.n
        and j.state = 'waiting' and j.parcel_id = k.id offset 0) j on true`;
  if (row === undefined || row.looked === 0) return 0;
  return Math.round((row.tried * row.listed) / row.looked);
}

function amount(looked: number, most = lookedAtMax): Amount {
  return { count: Math.min(looked, most), more: looked > most };
}
