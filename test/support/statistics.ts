import type { Sql } from "../../lib/db/connect.ts";

/** What the planner has been told of the tables, each with how a test says it. */
export const statistics = [
  ["whose tables nobody has analyzed", "never"],
  ["whose tables are analyzed", "filled"],
  ["whose queues were analyzed when two rows were in each, before a tick", "emptied"],
] as const;

/** Whose rows come and go within a minute. */
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

/** All but two rows of it are elsewhere while it is analyzed. */
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
