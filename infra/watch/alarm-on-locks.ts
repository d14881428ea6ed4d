import { Duration } from "aws-cdk-lib";
import type { AlarmOnTransactionsProps } from "./alarm-on-transactions.ts";

/** Measured by the tick, also in a database that is not made here: its operator does not know these locks. */
export function alarmOnLocks({ alarms, metrics, database }: AlarmOnTransactionsProps): void {
  alarms.whenAbove(database, "LocksHeld", 0, {
    metric: metrics.ofTick("ForeignLocks", { statistic: "Maximum", period: Duration.minutes(1) }),
    periods: 2,
    description:
      "In two minutes in a row a session of another program held locks of Carillon in the database for seconds: edits, jobs or commands wait until it ends.",
  });
}
