import type { Tx } from "../db/connect.ts";
import type { Usage } from "./usage.ts";

/** The usage of a prefix at one instant. */
export interface UsageRead extends Usage {
  /** The end of the day of which `writtenBytes` is the sum. */
  dayEndsAt: Date;
}

/** The usage of a prefix, that of longer ones included, with the changes of this transaction. */
export async function readUsage(tx: Tx, prefix: string): Promise<UsageRead> {
  const [row] = await tx<UsageRead[]>`
    select coalesce(sum(u.schedules), 0)::float8 as schedules, coalesce(sum(u.per_year), 0)::float8 as "perYear",
      coalesce(sum(u.payload_bytes), 0)::float8 as "payloadBytes",
      coalesce(sum(u.written_bytes) filter (where u.written_on >= d.today), 0)::float8 as "writtenBytes",
      (d.today + 1)::timestamp at time zone 'UTC' as "dayEndsAt"
    from (select (carillon.clock() at time zone 'UTC')::date as today) d left join (
      carillon.teams t join carillon.usage u on u.team_id = t.id)
      on t.prefix >= ${prefix} and t.prefix < ${`${prefix}\u{10ffff}`}
    group by d.today`;
  if (row === undefined) throw new Error("The current day returned no row.");
  return row;
}
