import type { Sql } from "../db/connect.ts";
import type { HandlerTraits } from "../job/handler-traits.ts";

/** Which handlers take all due jobs of a group together, where that is news; the ticks see to it that their schedules follow. */
export async function defineGroups(
  sql: Sql,
  handlers: readonly Pick<HandlerTraits, "name" | "grouped">[],
): Promise<void> {
  await sql`
    select carillon.note_grouped(${handlers.map(({ name }) => `handler/${name}`)}::text[], ${handlers.map(({ grouped }) => grouped)}::boolean[])`;
}
