import { Duration } from "aws-cdk-lib";
import type { Database } from "../database/database.ts";
import type { Alarms } from "./alarms.ts";
import type { Metrics } from "./metrics.ts";

export interface AlarmOnTransactionsProps {
  readonly alarms: Alarms;
  readonly metrics: Metrics;
  readonly database: Database;
}

/**
 * Functions' transactions end within a minute, and idle ones within five. A longer one belongs to
 * an engineer, or is a prepared transaction or a replication slot.
 */
const OPEN_MINUTES_MAX = 15;

/** Measured by the tick: RDS has only a metric of used transaction ids, which rises hours later. */
export function alarmOnTransactions({ alarms, metrics, database }: AlarmOnTransactionsProps): void {
  const highest = { statistic: "Maximum", period: Duration.minutes(1) };
  alarms.whenAbove(database, "TransactionOpen", Duration.minutes(OPEN_MINUTES_MAX).toMilliseconds(), {
    metric: metrics.ofTick("OldestTransactionMs", highest),
    periods: 5,
    description: `A transaction has been open for more than ${OPEN_MINUTES_MAX} minutes. It keeps its locks, and blocks the vacuum of the busiest tables: everything becomes slower while it is open.`,
  });
}
