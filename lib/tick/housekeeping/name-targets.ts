import type { Sql } from "../../db/connect.ts";
import type { Log } from "../../log/log.ts";
import { isAside, waitsAside } from "../../quarantine/quarantine.ts";
import { type Tried, tryInHalves } from "../../quarantine/try-rows.ts";

const pageMax = 2_000;

/**
 * Schedules from before targets had rows of their own have no target, so limits would not apply to
 * them: each gets its target here. This is one lookup in an index that is empty once all have one.
 * An edit at the same moment sets the target of its schedule itself. A schedule whose target cannot
 * be set is set aside.
 */
export async function nameTargets(
  { sql, log }: { sql: Sql; log: Log },
  timeIsUp: () => boolean,
): Promise<void> {
  for (let after = "0"; !timeIsUp(); ) {
    const page = await unnamed(sql, after);
    const name = (part: readonly Tried[]) =>
      nameSome(
        sql,
        part.map(({ item }) => item),
      );
    await tryInHalves({ sql, log, consumer: "target" }, page, name, timeIsUp);
    const last = page.at(-1);
    if (page.length < pageMax || last === undefined) return;
    after = last.item;
  }
}

function unnamed(sql: Sql, after: string): PromiseLike<Tried[]> {
  const id = sql`s.id`;
  return sql<Tried[]>`
    select s.id as item, s.id as "scheduleId", ${isAside(sql, "target", id)} as aside from carillon.schedules s
    where s.target_id is null and s.id > ${after} and not ${waitsAside(sql, "target", id)}
    order by s.id limit ${pageMax}`;
}

/** A locked schedule is skipped: it is being edited. */
async function nameSome(sql: Sql, ids: readonly string[]): Promise<void> {
  await sql`
    with unnamed as materialized (
      select s.id, s.spec_version from carillon.schedules s
      where s.id = any(${[...ids]}::bigint[]) and s.target_id is null order by s.id for update skip locked
    ), names as materialized (
      select u.id, case
        when v.target ? 'handler' then 'handler/' || (v.target ->> 'handler')
        when v.target ? 'queue' then 'queue/' || (v.target ->> 'queue')
        when v.target ? 'lambda' then 'lambda/' || (v.target ->> 'lambda')
        else 'event/' || (v.target -> 'event' ->> 'bus') end as name
      from unnamed u join carillon.schedule_versions v on v.schedule_id = u.id and v.version = u.spec_version
    ), targets as materialized (
      select name, carillon.target_named(name) as id from (select distinct name from names order by 1) n
    )
    update carillon.schedules s set target_id = t.id from names n join targets t on t.name = n.name where s.id = n.id`;
}
