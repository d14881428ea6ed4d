import type { Sql } from "../../lib/db/connect.ts";

/** The states of the planner's statistics, each with its words in test titles. */
export const statistics = [
  ["whose tables were never analyzed", "never"],
  ["whose tables are analyzed", "filled"],
  ["whose queues were analyzed when two rows were in each, before a tick", "emptied"],
] as const;

/** Tables whose rows come and go within a minute. */
export const queues: readonly string[] = [
  "backlog",
  "inbox",
  "lane_entries",
  "outbox",
  "parcels",
  "target_work",
];

export async function tell(sql: Sql, what: (typeof statistics)[number][1]): Promise<void> {
  if (what === "never") return;
  await sql`analyze`;
  if (what === "filled") return;
  for (const queue of queues) await analyzedWithTwo(sql, queue);
  await sql`select carillon.forget_queue_sizes()`;
}

/** Analyzes a table while only two of its rows are in it. */
async function analyzedWithTwo(sql: Sql, queue: string): Promise<void> {
  const table = sql`${sql("carillon")}.${sql(queue)}`;
  const written = await sql<{ name: string }[]>`
    select attname as name from pg_attribute
    where attrelid = ${`carillon.${queue}`}::regclass and attnum > 0 and not attisdropped and attgenerated = '' order by attnum`;
  const columns = sql(written.map(({ name }) => name));
  await sql`create temp table kept as select * from ${table}`;
  await sql`delete from ${table} where ctid <> all (array(select ctid from ${table} limit 2))`;
  await sql`analyze ${table}`;
  await sql`delete from ${table}`;
  await sql`vacuum (truncate off) ${table}`;
  await sql`insert into ${table} (${columns}) overriding system value select ${columns} from kept`;
  await sql`drop table kept`;
}
