import type { Tx } from "../db/connect.ts";
import type { Usage } from "./usage.ts";

/** The usage of a prefix, that of longer ones included, with the changes of this transaction. */
export async function readUsage(tx: Tx, prefix: string): Promise<Usage> {
  const [row] = await tx<Usage[]>`
    select coalesce(sum(u.schedules), 0)::float8 as schedules, coalesce(sum(u.per_year), 0)::float8 as "perYear",
      coalesce(sum(u.payload_bytes), 0)::float8 as "payloadBytes"
    from carillon.teams t join carillon.usage u on u.team_id = t.id
    where t.prefix >= ${prefix} and t.prefix < ${`${prefix}\u{10ffff}`}`;
  if (row === undefined) throw new Error("A sum without a group returned no row.");
  return row;
}
