import type { Tx } from "../db/connect.ts";
import { fewOwners } from "../history/find-schedules.ts";
import { comparedMax, isOneOf, mayBeOf, ownersMax, parcelsMax } from "../history/jobs-in-parcels.ts";
import { type JobKind, jobId } from "../job/job-id.ts";
import type { QueueClass } from "../parcel/parcel-queue.ts";
import { teamsUnder } from "../quota/teams-of-prefix.ts";
import { highestCharacter } from "../schedule/filter-schedules.ts";

/** Jobs that may start and have not. */
export interface LateWork {
  items: LateCause[];
  /** Not all parcels, or not all late jobs of them, were looked at: others may be late too. */
  more: boolean;
  /** With a prefix: how many late jobs, of all prefixes, are looked at. */
  jobsMax: number | null;
}

/** Jobs by what they wait for. */
export interface LateCause {
  queue: QueueClass;
  /** The target at which they wait for their turn; null if they wait for a worker. */
  target: string | null;
  jobs: number;
  since: Date;
  sample: string;
}

/** Late jobs whose schedules are looked up for a prefix of many schedules, those that have waited longest. */
const lookedUpMax = 20_000;

/** Causes that are returned: the two queues, and the targets at which jobs wait longest. */
const causesMax = 22;

interface LateRow extends Omit<LateCause, "sample"> {
  occurrence: Date;
  scheduleId: string;
  kind: JobKind;
  n: number;
}

type Row = { more: boolean } & (LateRow | { [Name in keyof LateRow]: null });

export interface LateSearch {
  now: Date;
  /** Jobs that have waited for less are left out. */
  lateMs: number;
  prefix: string | null;
}

/**
 * The jobs that are late, those that have waited longest first. Jobs in a lane or under a hold wait
 * on purpose and are left out. For a prefix, parcels of one other team are not opened.
 */
export async function readLateWork(tx: Tx, search: LateSearch): Promise<LateWork> {
  const { prefix } = search;
  const teams = prefix === null ? null : await teamsUnder(tx, prefix);
  const parcels = lateParcels(tx, search, teams);
  const {
    jobs,
    isCut,
    jobsMax,
    first = tx``,
  } = prefix === null
    ? { jobs: parcels, isCut: tx`false`, jobsMax: null }
    : await jobsUnder(tx, prefix, parcels);
  const rows = await tx<Row[]>`
    with ${first} causes as (
      select l.queue, t.name as target, sum(l.jobs)::float8 as jobs, min(l.since) as since,
        (array_agg(l.occurrence order by l.since, l.id))[1] as occurrence, (array_agg(l.schedule_id order by l.since, l.id))[1]::text as "scheduleId",
        (array_agg(l.kind order by l.since, l.id))[1] as kind, (array_agg(l.n order by l.since, l.id))[1] as n
      from (${jobs}) l
      left join carillon.targets t on t.id = l.target_id
      group by l.queue, t.name order by min(l.since) limit ${causesMax})
    select e.more, c.* from (
      select ${isCut} or (select count(*) > ${parcelsMax}::int from (select from carillon.parcels limit ${parcelsMax + 1}::int) p) as more) e
    left join causes c on true order by c.since`;
  return {
    more: rows[0]?.more === true,
    jobsMax,
    items: rows.flatMap(({ more: _, ...row }) => {
      if (row.scheduleId === null) return [];
      const { occurrence, scheduleId, kind, n, ...cause } = row;
      return [{ ...cause, sample: jobId({ occurrence, scheduleId, kind, n }) }];
    }),
  };
}

type Fragment = ReturnType<typeof lateParcels>;

/**
 * A parcel that waits for its turn has a place in the order of its target instead of a time; its
 * priority moved that place by ten minutes.
 */
const lateParcels = (tx: Tx, { now, lateMs }: LateSearch, teams: readonly { id: number }[] | null) => tx`
  select p.*, cardinality(p.occurrences) as jobs, p.occurrences[1] as occurrence, p.schedule_ids[1] as schedule_id,
    coalesce(p.kinds[1], 'cadence') as kind, coalesce(p.ns[1], 0) as n
  from (
    select p.id, p.queue, p.occurrences, p.schedule_ids, p.kinds, p.ns, case when p.turn = 'waits' then p.target_id end as target_id,
      case when p.turn = 'waits' then p.turn_at - coalesce(p.priority, 0) * interval '10 minutes' else p.ready_at end as since
    from (select * from carillon.parcels limit ${parcelsMax}::int) p
    where p.lease_until is null and p.lane is null and p.held_schedule is null and cardinality(p.occurrences) > 0 and ${mayBeOf(tx, teams)}) p
  where p.since <= ${new Date(now.getTime() - lateMs)}`;

interface LateJobs {
  jobs: Fragment;
  /** SQL: not all late jobs of the parcels were looked at. */
  isCut: Fragment;
  jobsMax: number;
  /** SQL: a part of a `with`. */
  first?: Fragment;
}

/** The late jobs of a prefix. Those of few schedules are found by id, so that those of other teams hide none. */
async function jobsUnder(tx: Tx, prefix: string, parcels: Fragment): Promise<LateJobs> {
  const ids = await fewOwners(tx, { prefix }, { deleted: false, most: ownersMax });
  if (ids === null)
    return {
      first: tx`first as materialized (${unfolded(tx, parcels)} order by p.since, p.id limit ${lookedUpMax + 1}::int),`,
      jobs: lookedUp(tx, prefix),
      isCut: tx`(select count(*) > ${lookedUpMax}::int from first)`,
      jobsMax: lookedUpMax,
    };
  return {
    jobs: tx`
      select k.*, 1 as jobs from (${unfolded(tx, parcels)} limit ${comparedMax}::int) k
      where ${isOneOf(tx, tx`k.schedule_id`, ids)}`,
    isCut: tx`(select coalesce(sum(p.jobs), 0) > ${comparedMax}::int from (${parcels}) p)`,
    jobsMax: comparedMax,
  };
}

/** SQL: the jobs of the parcels. */
const unfolded = (tx: Tx, parcels: Fragment) => tx`
  select p.id, p.queue, p.target_id, p.since, u.occurrence, u.schedule_id, coalesce(u.kind, 'cadence') as kind, coalesce(u.n, 0) as n
  from (${parcels}) p
  cross join lateral unnest(p.occurrences, p.schedule_ids, p.kinds, p.ns) u (occurrence, schedule_id, kind, n)`;

const lookedUp = (tx: Tx, prefix: string) => tx`
  select k.id, k.queue, k.target_id, k.since, 1 as jobs, k.occurrence, k.schedule_id, k.kind, k.n
  from (select * from first order by since, id limit ${lookedUpMax}::int) k
  cross join lateral (select key from carillon.schedules s where s.id = k.schedule_id offset 0) s
  where s.key >= ${prefix} and s.key < ${prefix + highestCharacter}`;

/**
 * The queues of which a worker shows a sign of life: a claim or a settle lately, or a parcel under a
 * lease, because a worker that has a parcel for long claims no other meanwhile. Pulses are counted for
 * both queues together, so they are a sign only while the ledger has no outage of the queue.
 */
export async function readLiveQueues(tx: Tx, now: Date, withinMs: number): Promise<Set<QueueClass>> {
  const since = new Date(now.getTime() - withinMs);
  const rows = await tx<{ queue: QueueClass }[]>`
    select q.queue from unnest(enum_range(null::carillon.queue_class)) q (queue)
    where exists (select from carillon.parcel_times t where t.queue = q.queue and t.claimed_at >= ${since})
      or exists (select from carillon.parcels p where p.queue = q.queue and (p.claimed_at >= ${since} or p.lease_until >= ${now}))
      or (select t.settled_at from carillon.parcel_times t where t.queue = q.queue order by t.claimed_at desc limit 1) >= ${since}
      or (not exists (select from carillon.outages o where o.what = q.queue || '-workers' and o.to_at is null)
        and (exists (select from carillon.tallies where at >= ${since} and pulses is not null)
          or exists (select from carillon.minutes where minute >= ${since} and pulses > 0)))`;
  return new Set(rows.map(({ queue }) => queue));
}
