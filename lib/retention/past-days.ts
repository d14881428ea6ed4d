import type { Sql } from "../db/connect.ts";
import type { Log } from "../log/log.ts";
import { isAside, waitsAside } from "../quarantine/quarantine.ts";
import { type Tried, tryEach } from "../quarantine/try-rows.ts";

/**
 * Reads each day of jobs that is past the retention once, before it may be dropped: whether a job
 * of it still waits.
 */
export async function lookAtDays(
  { sql, log }: { sql: Sql; log: Log },
  retentionDays: number,
  timeIsUp: () => boolean,
): Promise<void> {
  const item = sql`p.day::text`;
  const days = await sql<Tried[]>`
    select ${item} as item, ${isAside(sql, "day-look", item)} as aside
    from carillon.past_days(${retentionDays} * interval '1 day') p
    where p.to_look and not ${waitsAside(sql, "day-look", item)} order by p.day`;
  await tryEach(
    { sql, log, consumer: "day-look" },
    days,
    (day) => sql`select carillon.look_at_day(${day.item}::text::date)`,
    timeIsUp,
  );
}
