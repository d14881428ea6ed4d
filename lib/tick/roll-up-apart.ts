import type { Sql, Tx } from "../db/connect.ts";
import type { Log } from "../log/log.ts";
import { isAside, waitsAside } from "../quarantine/quarantine.ts";
import { type Tried, tryInHalves } from "../quarantine/try-rows.ts";
import { nothingRolledUp, type RolledUp, rolledUp } from "./rolled-up.ts";

/** Small rows that are only inserted, and leave their table when they are rolled up. */
type Small = "schedule_tallies" | "tallies" | "target_work";

/** The most rows of a table that are added apart in a tick. */
const apartMax = 20_000;

/**
 * Adds the rows of a table in halves. They have no ids, so an entry names the place of its row in the table. It is the same until the row is gone: no
 * such row is ever updated.
 */
export async function rollUpApart(
  { sql, log, timeIsUp }: { sql: Sql; log: Log; timeIsUp: () => boolean },
  table: Small,
  add: (places: readonly string[]) => Promise<unknown>,
): Promise<void> {
  const item = sql`${`${table} `}::text || t.ctid::text`;
  const rows = await sql<(Tried & { place: string })[]>`
    select ${item} as item, t.ctid::text as place, ${isAside(sql, "tally", item)} as aside from carillon.${sql(table)} t
    where not ${waitsAside(sql, "tally", item)} limit ${apartMax}`;
  const addSome = async (part: readonly (typeof rows)[number][]) => {
    await add(part.map(({ place }) => place));
  };
  await tryInHalves({ sql, log, consumer: "tally" }, rows, addSome, timeIsUp);
}

const rowsAt = (tx: Tx, places: readonly string[]) => tx`${[...places]}::text[]::tid[]`;

export async function addSchedules(sql: Sql, places: readonly string[]): Promise<void> {
  await sql`select carillon.roll_up_schedules(${rowsAt(sql, places)})`;
}

export async function addTallies(sql: Sql, places: readonly string[]): Promise<RolledUp> {
  const [row] = await sql<
    RolledUp[]
  >`select ${rolledUp(sql)} from carillon.roll_up_tallies(${rowsAt(sql, places)})`;
  return row ?? nothingRolledUp;
}

export async function addWork(sql: Sql, places: readonly string[]): Promise<void> {
  await sql`select carillon.roll_up_work_rows(${rowsAt(sql, places)})`;
}
