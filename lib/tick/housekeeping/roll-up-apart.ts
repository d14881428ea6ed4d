import type { Sql, Tx } from "../../db/connect.ts";
import { waitForRows } from "../../db/locks.ts";
import { sqlState } from "../../db/sql-state.ts";
import type { Log } from "../../log/log.ts";
import { OfNoRow } from "../../quarantine/in-halves.ts";
import { isAside, waitsAside } from "../../quarantine/quarantine.ts";
import { type Tried, tryInHalves } from "../../quarantine/try-rows.ts";
import { nothingRolledUp, type RolledUp, rolledUp } from "../rolled-up.ts";

/** Tables of small rows that are only inserted, and deleted when they are rolled up. */
type Small = "schedule_tallies" | "tallies" | "target_work";

/** Rows of a table that one tick adds in halves. */
const apartMax = 20_000;

/**
 * Adds the rows of a table in halves. The rows have no ids, so a quarantine entry names a row by
 * its ctid. That is stable until the row is deleted, because such a row is never updated.
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
    try {
      await add(part.map(({ place }) => place));
    } catch (error) {
      throw sqlState(error) === "lock_timeout" ? new OfNoRow(error) : error;
    }
  };
  await tryInHalves({ sql, log, consumer: "tally" }, rows, addSome, timeIsUp);
}

/**
 * All rows are added to the same minutes and totals. A lock on those is waited for briefly and is
 * no row's fault: the next tick adds the remaining rows.
 */
export function beginAddition<Row>(sql: Sql, add: (tx: Tx) => PromiseLike<Row>): Promise<Row> {
  return sql.begin(async (tx) => {
    await waitForRows(tx, apartMax);
    return add(tx);
  });
}

const rowsAt = (tx: Tx, places: readonly string[]) => tx`${[...places]}::text[]::tid[]`;

export async function addSchedules(sql: Sql, places: readonly string[]): Promise<void> {
  await beginAddition(sql, (tx) => tx`select carillon.roll_up_schedules(${rowsAt(tx, places)})`);
}

export async function addTallies(sql: Sql, places: readonly string[]): Promise<RolledUp> {
  const [row] = await beginAddition(
    sql,
    (tx) => tx<RolledUp[]>`select ${rolledUp(tx)} from carillon.roll_up_tallies(${rowsAt(tx, places)})`,
  );
  return row ?? nothingRolledUp;
}

export async function addWork(sql: Sql, places: readonly string[]): Promise<void> {
  await beginAddition(sql, (tx) => tx`select carillon.roll_up_work_rows(${rowsAt(tx, places)})`);
}
