import type { Sql } from "../../lib/db/connect.ts";

/**
 * Rules that the oracle of cadence jobs does not check: of rechecks, cancelled jobs, attempts, and
 * rows that handlers write themselves.
 */
export async function judgeBeside(sql: Sql): Promise<string[]> {
  const broken = await sql<{ rule: string; key: string; occurrence: Date; kind: string; found: number }[]>`
    with told as (
      select s.key, s.target_kind, v.target ->> 'handler' as handler, j.* from carillon.jobs j
      join carillon.schedules s on s.id = j.schedule_id
      join carillon.schedule_versions v on v.schedule_id = s.id and v.version = s.spec_version
    )
    select rule, key, occurrence, kind::text, found::int from (
      select 'rechecks of a job that asked for one' as rule, t.key, t.occurrence, t.kind, 1 as wanted, (
        select count(*) from carillon.jobs r
        where r.kind = 'again' and r.schedule_id = t.schedule_id and r.root_occurrence = coalesce(t.root_occurrence, t.occurrence)
          and r.checks = coalesce(t.checks, 0) + 1) as found
      from told t where t.handler = 'checked' and t.state = 'succeeded' and coalesce(t.checks, 0) < ${checksAsked}
      union all
      select 'places in the list beside', t.key, t.occurrence, t.kind, 1, (
        select count(*) from carillon.jobs_beside b where b.schedule_id = t.schedule_id and b.occurrence = t.occurrence and b.kind = t.kind and b.n = t.n)
      from told t where t.kind = 'again'
      union all
      select 'parcels of what waits', t.key, t.occurrence, t.kind, 1, (
        select count(*) from carillon.parcels p where p.id = t.parcel_id and t.schedule_id = any(p.schedule_ids) and t.occurrence = any(p.occurrences))
      from told t where t.state = 'waiting'
      union all
      select 'recorded attempts', t.key, t.occurrence, t.kind, t.attempt, (
        select count(*) from carillon.attempts a where a.schedule_id = t.schedule_id and a.occurrence = t.occurrence and a.kind = t.kind and a.n = t.n)
      from told t where t.attempt > 1
      union all
      select 'ends of what was cancelled', t.key, t.occurrence, t.kind, 1, (t.state = 'cancelled')::int
      from told t where t.key = 'stopped' and t.due_at <= carillon.clock()
      union all
      select 'rows written by the handler', t.key, t.occurrence, t.kind, (t.state = 'succeeded')::int, (
        select count(*) from effects e where e.schedule_id = t.schedule_id and e.occurrence = t.occurrence and e.kind = t.kind::text and e.n = t.n)
      from told t where t.handler = 'effects'
    ) rules
    where found <> wanted`;
  return broken.map(
    ({ rule, key, occurrence, kind, found }) =>
      `${found} ${rule}: ${key}, ${kind} of ${occurrence.toISOString()}`,
  );
}

/** The number of rechecks, one after the other, that a run of the handler `checked` requests. */
export const checksAsked = 2;

export async function makeEffects(sql: Sql): Promise<void> {
  await sql`create table effects (schedule_id bigint not null, occurrence timestamptz(3) not null, kind text not null, n int not null)`;
}
