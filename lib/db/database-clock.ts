import type { Tx } from "./connect.ts";

/** The clock for every decision about schedules and jobs. */
export async function databaseClock(tx: Tx): Promise<Date> {
  const [row] = await tx<{ now: Date }[]>`select carillon.clock() as now`;
  if (row === undefined) throw new Error("The database returned no time.");
  return row.now;
}
