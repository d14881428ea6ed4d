import type { Sql } from "../db/connect.ts";

const pageMax = 2_000;

/**
 * Schedules from before targets had rows of their own belong to no target, so no limit would hold for them: each gets its target here. A
 * look into an index that is empty once all have one. Whoever edits one at the same moment names its target anyway.
 */
export async function nameTargets(sql: Sql, timeIsUp: () => boolean): Promise<void> {
  while (!timeIsUp()) {
    const named = await sql`
      with unnamed as materialized (
        select s.id, s.spec_version from carillon.schedules s where s.target_id is null order by s.id limit ${pageMax} for update skip locked
      ), names as materialized (
        select u.id, case
          when v.target ? 'handler' then 'handler/' || (v.target ->> 'handler')
          when v.target ? 'queue' then 'queue/' || (v.target ->> 'queue')
          when v.target ? 'lambda' then 'lambda/' || (v.target ->> 'lambda')
          else 'event/' || (v.target -> 'event' ->> 'bus') end as name
        from unnamed u join carillon.schedule_versions v on v.schedule_id = u.id and v.version = u.spec_version
      ), targets as materialized (
        select name, carillon.target_named(name) as id from (select distinct name from names) n
      )
      update carillon.schedules s set target_id = t.id from names n join targets t on t.name = n.name where s.id = n.id
      returning s.id`;
    if (named.length < pageMax) return;
  }
}
