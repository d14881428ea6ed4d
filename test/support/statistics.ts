import type { Sql } from "../../lib/db/connect.ts";

/** What the planner has been told of the tables, each with how a test says it. */
export const statistics = [
  ["whose tables nobody has analyzed", "never"],
  ["whose tables are analyzed", "filled"],
  ["whose queues were analyzed when they were empty, before a tick", "emptied"],
] as const;

export async function tell(sql: Sql, what: (typeof statistics)[number][1]): Promise<void> {
  if (what === "never") return;
  await sql`analyze`;
  if (what === "filled") return;
  await queuesAnalyzedEmpty(sql);
  await sql`select carillon.forget_queue_sizes()`;
}

/** As `analyze` leaves it that comes to queues which are empty but for what is dead in them. */
export async function queuesAnalyzedEmpty(sql: Sql): Promise<void> {
  await sql`
    with queues as (
      select unnest(array['parcels', 'lane_entries', 'backlog', 'inbox', 'outbox', 'target_work'])::text as name
    ), relations as (
      select ('carillon.' || name)::regclass::oid as oid from queues
      union all
      select indexrelid from queues join pg_index on indrelid = ('carillon.' || name)::regclass
    )
    update pg_class set reltuples = 0, relpages = 30, relallvisible = 0 where oid in (select oid from relations)`;
}
