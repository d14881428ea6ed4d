import type { Sql } from "../../lib/db/connect.ts";
import type { Log } from "../../lib/log/log.ts";
import { dropDays } from "../../lib/retention/drop-days.ts";

/** Drops days of the plan and of jobs as a tick with all its time does. A lock that another transaction keeps fails the test. */
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
