import type { Tx } from "../db/connect.ts";
import { type TeamOfPrefix, teamsUnder } from "../quota/teams-of-prefix.ts";
import { fewOwners, isOwner } from "./find-schedules.ts";
import { comparedMax, isOneOf, mayBeOf, ownersMax, parcelsMax } from "./jobs-in-parcels.ts";
import { type DeadFilter, lookedMax } from "./looked-dead.ts";

/** The schedules and the teams to which a search of retrying jobs is narrowed; null for all. */
export interface RetryingOf {
  ids: readonly string[] | null;
  teams: readonly TeamOfPrefix[] | null;
}

/** Jobs of few schedules are found by id, so that those of other teams hide none. */
export async function retryingOf(tx: Tx, filter: DeadFilter): Promise<RetryingOf> {
  const { prefix } = filter;
  return {
    ids: await fewOwners(tx, filter, { deleted: false, most: ownersMax }),
    teams: prefix === undefined ? null : await teamsUnder(tx, prefix),
  };
}

/**
 * SQL, parts of a `with`: `looked`, `edge`, and in `wanted` those jobs that match the filter. Jobs
 * that wait for their next attempt are in parcels, which list them with their kinds. A parcel
 * without kinds has never been attempted. The parcels are read once, with one more than are looked
 * at, and the lists of those that do not fit are not kept.
 */
export function retryingLooked(tx: Tx, filter: DeadFilter, { ids, teams }: RetryingOf) {
  const { errorGroup, to } = filter;
  const most = ids === null ? lookedMax : comparedMax;
  return tx`
    newest as materialized (
      select p.id, f.fits, case when f.fits then p.occurrences end as occurrences, case when f.fits then p.schedule_ids end as schedule_ids,
        case when f.fits then p.kinds end as kinds, case when f.fits then p.ns end as ns
      from (select * from carillon.parcels order by id desc limit ${parcelsMax + 1}::int) p
      cross join lateral (select p.kinds is not null and p.lease_until is null and ${mayBeOf(tx, teams)} as fits) f
    ), open as not materialized (
      select * from newest where fits
    ), listed as materialized (
      select l.* from (
        select p.id, k.occurrence, k.schedule_id, k.kind, k.n
        from open p cross join lateral unnest(p.occurrences, p.schedule_ids, p.kinds, p.ns) k (occurrence, schedule_id, kind, n)
        limit ${most}::int) l
      where ${ids === null ? tx`true` : isOneOf(tx, tx`l.schedule_id`, ids)} limit ${lookedMax + 1}
    ), edge as materialized (
      select (select count(*) from newest) > ${parcelsMax}
        or coalesce((select sum(cardinality(occurrences)) from open), 0) > ${most} or (select count(*) from listed) > ${lookedMax} as more
    ), looked as materialized (
      select j.occurrence, j.schedule_id, j.kind, j.n, a.finished_at as died_at, null::text as reason, a.error_group
      from (select * from listed limit ${lookedMax}) l
      cross join lateral (
        select j.occurrence, j.schedule_id, j.kind, j.n from carillon.jobs j
        where j.occurrence = l.occurrence and j.schedule_id = l.schedule_id and j.kind = l.kind and j.n = l.n
          and j.state = 'waiting' and j.attempt > 0 and j.parcel_id = l.id offset 0) j
      cross join lateral (
        select a.finished_at, a.error_group from carillon.attempts a
        where a.occurrence = j.occurrence and a.schedule_id = j.schedule_id and a.kind = j.kind and a.n = j.n and a.error_group is not null
        order by a.occurrence desc, a.schedule_id desc, a.kind desc, a.n desc, a.attempt desc limit 1) a
    ), wanted as materialized (
      select d.* from looked d
      cross join lateral (select s.* from carillon.schedules s where s.id = d.schedule_id and s.deleted_at is null offset 0) s
      where ${isOwner(tx, filter)}
        ${errorGroup === undefined ? tx`` : tx`and d.error_group = any(${[...errorGroup]}::text[])`}
        ${to === undefined ? tx`` : tx`and d.died_at < ${to}`}
    )`;
}
