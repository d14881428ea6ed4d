import type { Tx } from "../db/connect.ts";

/**
 * The given schedules that have ended, and had only one instant: their only job is settled, and not
 * dead. Nearly all schedules that end by themselves are of this kind, so this query saves reading
 * them in full. Held or edited schedules, and those with jobs beside the cadence, are not included.
 * The caller locks the schedules before, in a separate statement.
 */
export function finishedOneTimeSchedules(tx: Tx, ids: readonly string[]): PromiseLike<{ id: string }[]> {
  return tx<{ id: string }[]>`
    with beside as materialized (
      select distinct b.schedule_id from carillon.jobs_beside b where b.schedule_id = any(${ids}::bigint[])
    )
    select s.id
    from unnest(${ids}::bigint[]) k (id)
    cross join lateral (
      select s.id from carillon.schedules s
      where s.id = k.id and s.end_look_at is not null and s.spec_version = 1 and s.held_since is null and s.deleted_at is null offset 0) s
    cross join lateral (
      select v.once_at from carillon.schedule_versions v where v.schedule_id = k.id and v.version = 1 and v.once_at is not null offset 0) v
    cross join lateral (
      select from carillon.jobs j
      where j.occurrence = v.once_at and j.schedule_id = k.id and j.kind = 'cadence' and j.n = 0
        and j.due_at <= carillon.clock() and coalesce(j.state, 'waiting') in ('succeeded', 'cancelled', 'skipped') offset 0) j
    where k.id not in (select b.schedule_id from beside b)`.execute();
}
