import type { Tx } from "../db/connect.ts";
import type { Usage } from "./usage.ts";

/** The usage of these teams together, with the changes of this transaction. */
export async function readUsage(tx: Tx, teams: readonly number[]): Promise<Usage> {
  const [row] = await tx<Usage[]>`
    select coalesce(sum(schedules), 0)::float8 as schedules, coalesce(sum(per_year), 0)::float8 as "perYear",
      coalesce(sum(payload_bytes), 0)::float8 as "payloadBytes"
    from carillon.usage where team_id = any(${[...teams]}::int[])`;
  if (row === undefined) throw new Error("A sum without a group returned no row.");
  return row;
}
