import type { Sql } from "../db/connect.ts";
import { rememberedDays } from "../ingest/understand.ts";

const batch = 5_000;

/**
 * Forgets what no command can be older than any more, and the dead commands whose days are over. Marks that somebody has locked are
 * left for another time: they are in use.
 */
export async function forgetCommands(
  sql: Sql,
  retentionDays: number,
  timeIsUp: () => boolean,
): Promise<void> {
  for (let gone = batch; gone === batch && !timeIsUp(); ) {
    const forgotten = await sql`
      delete from carillon.command_marks where key in (
        select key from carillon.command_marks
        where seen_on < ((select carillon.clock()) at time zone 'UTC')::date - ${rememberedDays}::int
        order by seen_on limit ${batch} for update skip locked)`;
    gone = forgotten.count;
  }
  for (let gone = batch; gone === batch && !timeIsUp(); ) {
    const forgotten = await sql`
      delete from carillon.dead_commands where id in (
        select id from carillon.dead_commands
        where refused_at < (select carillon.clock()) - ${retentionDays} * interval '1 day' order by refused_at limit ${batch})`;
    gone = forgotten.count;
  }
}
