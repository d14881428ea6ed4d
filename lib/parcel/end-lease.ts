import type { Sql } from "../db/connect.ts";
import { defaults } from "../schedule/stored-schedule.ts";
import { type Notify, type Settled, type SettleRow, settledOf } from "./settle.ts";

/** Takes a parcel whose lease has ended from its worker; `held` is false where somebody else did, or where the worker still lives. */
export async function endLease(sql: Sql, id: string, notify: Notify): Promise<Settled> {
  const rows = await sql<SettleRow[]>`
    select ended as settled, id, queue, coalesce(greatest(0, extract(epoch from ready_at - carillon.clock()) * 1000), 0)::float8 as "waitMs"
    from carillon.end_lease(${id}, ${defaults.retry.attempts}, ${[...notify]}::text[])`;
  return settledOf(rows);
}
