import { connect, type Sql } from "../../lib/db/connect.ts";
import type { Consumer } from "../../lib/quarantine/quarantine.ts";
import type { Carillon } from "../support/carillon.ts";

/**
 * Makes each update and delete of rows that match `condition` (on `old`) fail, until `mend` is
 * called.
 */
export async function poison(sql: Sql, table: string, condition: string): Promise<void> {
  await sql.unsafe(`
    create or replace function public.poisoned() returns trigger language plpgsql as $$ begin raise exception 'poisoned'; end $$;
    create trigger poison before update or delete on carillon.${table} for each row when (${condition}) execute function public.poisoned()`);
}

export async function mend(sql: Sql, table: string): Promise<void> {
  await sql.unsafe(`drop trigger poison on carillon.${table}`);
}

export interface Entry {
  consumer: Consumer;
  item: string;
  reason: string;
  tries: number;
}

export async function quarantined({ sql }: Pick<Carillon, "sql">): Promise<Entry[]> {
  return sql<Entry[]>`select consumer, item, reason, tries from carillon.quarantine order by consumer, item`;
}

export const raised = "PostgresError: P0001 raised by a function or a trigger";

/** The consumer and item of each log line about a row that was set aside. */
export const told = ({ log }: Pick<Carillon, "log">) =>
  log.lines
    .filter(({ event }) => event === "quarantine.set-aside")
    .map(({ fields }) => [fields["consumer"], fields["item"]]);

/** The tick waits briefly for a lock, instead of its role's five seconds; on one connection. */
export async function impatientTick(world: Carillon): Promise<void> {
  const impatient = connect({ DATABASE_URL: world.databaseUrl }, { max: 1 });
  await impatient`set lock_timeout = '200ms'`;
  world.as.tick = impatient;
}
