import type postgres from "postgres";
import type { Tx } from "../db/connect.ts";
import { parcelMax } from "../parcel/parcel-queue.ts";

/** Jobs in one parcel are due within this, so none waits longer than this for a neighbour. */
const parcelSpan = "250 milliseconds";

/**
 * Of the parcels of one target that a batch makes ready together so many are sent; the others wait at the target until those that
 * were sent have been worked. A burst of one target so never fills the queue before others.
 */
const sentAtOnce = 4;

/**
 * Jobs, numbered into parcels of one queue whose jobs are due together, and taken out of the parcels' lists again: a join of
 * the two costs more than all the rest of packing. The job's primary key makes a repetition harmless.
 */
export function packedJobs(tx: Tx, shard: number, now: Date): postgres.PendingQuery<postgres.Row[]> {
  return tx`
    sizes as materialized (
      select t.id, carillon.parcel_jobs(o.queue, t.concurrency, t.rate_count, t.rate_ms, t.cost_ms) as jobs, t.rate_count is not null as rated
      from (select distinct queue, target_id from occurrences where target_id is not null) o join carillon.targets t on t.id = o.target_id
    ),
    numbered as (
      select o.*, date_bin(${parcelSpan}::interval, o.due_at, 'epoch') as span,
        (row_number() over (partition by o.queue, o.target_id, o.priority, date_bin(${parcelSpan}::interval, o.due_at, 'epoch')
            order by o.occurrence, o.schedule_id) - 1)
          / coalesce(z.jobs, case o.queue when 'fast' then ${parcelMax.fast}::int else ${parcelMax.slow}::int end) as seat,
        case when z.rated then o.target_id end as rated
      from occurrences o left join sizes z on z.id = o.target_id where not o.passed
    ),
    packed as materialized (
      select nextval('carillon.parcels_id_seq') as id, g.* from (
      select queue, target_id, priority, rated, max(due_at) as ready_at,
        seat >= ${sentAtOnce} and target_id is not null and rated is null as waits,
        array_agg(occurrence order by occurrence, schedule_id) as occurrences,
        array_agg(schedule_id order by occurrence, schedule_id) as schedule_ids,
        array_agg(due_at order by occurrence, schedule_id) as dues,
        array_agg(version order by occurrence, schedule_id) as versions
      from numbered group by queue, target_id, priority, rated, span, seat order by span, seat) g
    ),
    inserted_jobs as (
      insert into carillon.jobs (occurrence, schedule_id, due_at, parcel_id, version)
      select j.occurrence, j.schedule_id, j.due_at, p.id, j.version
      from packed p cross join lateral unnest(p.occurrences, p.schedule_ids, p.dues, p.versions) j (occurrence, schedule_id, due_at, version)
      on conflict do nothing
      returning schedule_id
    ),
    fired_tallied as (
      insert into carillon.tallies (at, fired) select ${now}, count(*) from inserted_jobs having count(*) > 0
    ),
    skipped_jobs as (
      insert into carillon.jobs (occurrence, schedule_id, due_at, version, state, reason, finished_at)
      select occurrence, schedule_id, due_at, version, 'skipped', reason, ${now} from occurrences where passed
      on conflict do nothing
      returning schedule_id, occurrence, reason
    ),
    inserted_parcels as (
      insert into carillon.parcels (id, shard, queue, ready_at, offer_at, target_id, turn, turn_at, priority, occurrences, schedule_ids)
      select id, ${shard}::smallint, queue, case when waits then 'infinity' else ready_at end,
        case when waits then 'infinity' else ${now}::timestamptz + interval '20 seconds' end, target_id,
        case when waits then 'waits'::carillon.parcel_turn end, case when waits then carillon.turn_place(ready_at, priority) end, priority,
        occurrences, schedule_ids
      from packed
      returning id
    )`;
}
