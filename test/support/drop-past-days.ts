import type { Sql } from "../../lib/db/connect.ts";
import type { Log } from "../../lib/log/log.ts";
import { dropDays } from "../../lib/retention/drop-days.ts";

/**
 * Drops days of the plan and of jobs, as a tick without a time limit does. A lock of another
 * transaction fails the test.
 */
export function dropPastDays(
  { sql, log }: { sql: Sql; log: Log },
  retentionDays: number,
  { archived = false } = {},
): Promise<string[]> {
  const bounds = {
    timeIsUp: () => false,
    note: (error: unknown) => {
      throw error;
    },
  };
  return dropDays({ sql, log }, { retentionDays, archived }, bounds);
}
