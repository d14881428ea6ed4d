import type { Sql } from "../connect.ts";

/**
 * The test kit replaces the clock of its databases by one that stands still. A deployment on one of
 * them would look healthy, and no job would ever be due.
 */
export async function refuseTestClock(sql: Sql): Promise<void> {
  const [found] = await sql`select to_regclass('carillon.test_clock') is not null as "isTest"`;
  if (found?.["isTest"] !== true) return;
  throw new Error(
    "The database was made by the test kit: its clock is the table carillon.test_clock, and stands still. A deployment needs another database.",
  );
}
