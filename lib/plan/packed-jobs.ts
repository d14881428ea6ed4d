import type postgres from "postgres";
import type { Tx } from "../db/connect.ts";
import { parcelMax } from "../parcel/parcel-queue.ts";

/**
 * Jobs in one parcel are due within this span, so a job waits at most this long for a neighbour.
 */
const parcelSpan = "250 milliseconds";

/**
 * A team travels apart if it has at least this many of the jobs that could travel together, and at
 * least one of `crowdsMax` parts of them. With the second number, jobs that would fill one parcel
 * become at most so many more. Without the first, each job of a quiet deployment had its own message.
 */
const crowdMin = 4;
const crowdsMax = 8;

/**
 * If a batch makes many parcels for one target that are ready together, this many of them are sent.
 * The others wait at the target until these are done, so that a burst of one target does not fill
 * the queue before others.
 */
const sentAtOnce = 4;

export interface Packing {
  shard: number;
  now: Date;
  /**
   * Some jobs may exist already, and are left unchanged. If false, an existing job fails the
   * statement, and the other inserts cost half as much.
   */
  someExist: boolean;
  /** Some occurrences may be passed over, and are written as skipped jobs. */
  somePassed: boolean;
}

type Query = postgres.PendingQuery<postgres.Row[]>;

/**
 * Sorts jobs once by what travels together, cuts them into parcels, and reads them back from the
 * parcels' arrays. The jobs of a team that fill a parcel by themselves, or are a large part of what
 * travels together (`crowds`), travel without others, so that jobs of other teams do not wait with
 * them; at a target that limits the places of one team all teams do. A parcel names the team if all of its jobs are of one. A join of jobs and parcels costs more
 * than the rest of packing, and so does numbering each job. The job's primary key makes a repetition
 * harmless.
 */
export function packedJobs(tx: Tx, { shard, now, someExist, somePassed }: Packing): Query {
  const unlessThere = someExist ? tx`on conflict do nothing` : tx``;
  return tx`
    crowds as materialized (
      select t.* from (
        select g.*, sum(g.jobs) over (partition by g.queue, g.target, g.priority, g.span) as of_all from (
          select queue, coalesce(target_id, 0) as target, coalesce(priority, 0) as priority, date_bin(${parcelSpan}::interval, due_at, 'epoch') as span, team_id, count(*) as jobs
          from occurrences where not passed and (select exists (select from occurrences where team_id is not null)) group by 1, 2, 3, 4, 5) g) t
      where team_id is not null and (jobs >= case queue when 'fast' then ${parcelMax.fast}::int else ${parcelMax.slow}::int end
        or (jobs >= ${crowdMin} and jobs >= of_all / ${crowdsMax})
        or target in (select id from carillon.targets where concurrency is not null and per_team is not null))
    ),
    together as (
      select o.queue, o.target_id, o.priority, date_bin(${parcelSpan}::interval, o.due_at, 'epoch') as span,
        case when count(o.team_id) = count(*) and min(o.team_id) = max(o.team_id) then min(o.team_id) end as team_id,
        array_agg(o.occurrence order by o.occurrence, o.schedule_id) as occurrences,
        array_agg(o.schedule_id order by o.occurrence, o.schedule_id) as schedule_ids,
        array_agg(o.due_at order by o.occurrence, o.schedule_id) as dues,
        array_agg(o.version order by o.occurrence, o.schedule_id) as versions
      from occurrences o left join crowds c on c.team_id = o.team_id and c.span = date_bin(${parcelSpan}::interval, o.due_at, 'epoch')
        and c.queue = o.queue and c.target = coalesce(o.target_id, 0) and c.priority = coalesce(o.priority, 0)
      where not o.passed group by 1, 2, 3, 4, c.team_id
    ),
    sized as (
      select t.*, case when g.rate_count is not null then t.target_id end as rated,
        case when g.id is not null then carillon.parcel_jobs(t.queue, least(g.concurrency, g.per_team), g.rate_count, g.rate_ms, g.cost_ms)
          when t.queue = 'fast' then ${parcelMax.fast}::int else ${parcelMax.slow}::int end as size
      from together t left join carillon.targets g on g.id = t.target_id
    ),
    packed as materialized (
      select nextval('carillon.parcels_id_seq') as id, p.*, (select max(due) from unnest(p.dues) due) as ready_at from (
        select queue, target_id, priority, team_id, rated, seat >= ${sentAtOnce} and target_id is not null and rated is null as waits,
          occurrences[seat * size + 1 : (seat + 1) * size] as occurrences,
          schedule_ids[seat * size + 1 : (seat + 1) * size] as schedule_ids,
          dues[seat * size + 1 : (seat + 1) * size] as dues,
          versions[seat * size + 1 : (seat + 1) * size] as versions
        from sized cross join lateral generate_series(0, (cardinality(occurrences) - 1) / size) seat
        order by span, coalesce(priority, 0), team_id nulls first, seat) p
    ),
    inserted_jobs as (
      insert into carillon.jobs (occurrence, schedule_id, due_at, parcel_id, version, shard)
      select j.occurrence, j.schedule_id, j.due_at, p.id, j.version, ${shard}::smallint
      from packed p cross join lateral unnest(p.occurrences, p.schedule_ids, p.dues, p.versions) j (occurrence, schedule_id, due_at, version)
      ${unlessThere}
      returning schedule_id
    ),
    fired_tallied as (
      insert into carillon.tallies (at, fired) select ${now}, count(*) from inserted_jobs having count(*) > 0
    ),
    ${somePassed ? skippedJobs(tx, shard, now) : tx``}
    inserted_parcels as (
      insert into carillon.parcels (id, shard, queue, ready_at, offer_at, target_id, turn, turn_at, priority, team_id, waited_at, occurrences, schedule_ids)
      select id, ${shard}::smallint, queue, case when waits then 'infinity' else ready_at end,
        case when waits then 'infinity' else ${now}::timestamptz + interval '20 seconds' end, target_id,
        case when waits then 'waits'::carillon.parcel_turn end, case when waits then carillon.turn_place(ready_at, priority) end, priority, team_id,
        case when waits then ready_at end, occurrences, schedule_ids
      from packed
      returning id
    )`;
}

function skippedJobs(tx: Tx, shard: number, now: Date): Query {
  return tx`
    skipped_jobs as (
      insert into carillon.jobs (occurrence, schedule_id, due_at, version, state, reason, finished_at, shard)
      select occurrence, schedule_id, due_at, version, 'skipped', reason, ${now}, ${shard}::smallint from occurrences where passed
      on conflict do nothing
      returning schedule_id, occurrence, reason
    ),`;
}
