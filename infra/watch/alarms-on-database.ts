import { Duration, Size } from "aws-cdk-lib";
import type { Database } from "../database/database.ts";
import type { DatabaseMetrics } from "../database/database-server.ts";
import type { Alarms } from "./alarms.ts";

export interface AlarmsOnDatabaseProps {
  readonly alarms: Alarms;
  /** The database's initial storage; it grows automatically when a tenth of it is left. */
  readonly storageGiB: number;
  /** How many connections the database accepts. */
  readonly connectionsMax: number;
}

const CPU_PERCENT_MAX = 80;
const CONNECTIONS_SHARE_MAX = 0.8;
/**
 * Postgres stops accepting writes at 2³¹. Its own emergency vacuum begins at 200 million, so at
 * this number the vacuum cannot finish.
 */
const TRANSACTION_IDS_MAX = 500_000_000;
const CAPACITY_PERCENT_MAX = 90;
/**
 * The share of the connections that may be pinned. A session of a tick or a request pins its own,
 * for at most a minute.
 */
const PINNED_SHARE_MAX = 0.5;
const FIVE_MINUTES = Duration.minutes(5);

/** Alarms on resources that stop everything when they run out. */
export function alarmsOnDatabase(database: Database, props: AlarmsOnDatabaseProps): void {
  const { metrics } = database;
  // The operator of an external database monitors it.
  if (metrics === undefined) return;
  const { alarms, connectionsMax } = props;
  const connections = Math.floor(connectionsMax * CONNECTIONS_SHARE_MAX);
  const highest = { statistic: "Maximum", period: FIVE_MINUTES };
  alarms.whenAbove(database, "CpuHigh", CPU_PERCENT_MAX, {
    metric: metrics.of("CPUUtilization", { statistic: "Average", period: FIVE_MINUTES }),
    periods: 3,
    description: `For a quarter of an hour the database used more than ${CPU_PERCENT_MAX} % of its processors: jobs will soon start late.`,
  });
  alarms.whenAbove(database, "ConnectionsHigh", connections, {
    metric: metrics.of("DatabaseConnections", highest),
    periods: 2,
    description: `The database holds more than ${connections} of ${connectionsMax} connections: when none are left, functions cannot connect.`,
  });
  if (database.pinned !== undefined) {
    const pinned = Math.floor(connections * PINNED_SHARE_MAX);
    alarms.whenAbove(database, "ConnectionsPinned", pinned, {
      metric: database.pinned,
      periods: 15,
      description: `For a quarter of an hour RDS Proxy could not share more than ${pinned} of its connections: functions will soon wait for connections.`,
    });
  }
  if (metrics.kind === "serverless") {
    alarms.whenAbove(database, "CapacityHigh", CAPACITY_PERCENT_MAX, {
      metric: metrics.of("ACUUtilization", { statistic: "Average", period: FIVE_MINUTES }),
      periods: 3,
      description: `For a quarter of an hour the database was at more than ${CAPACITY_PERCENT_MAX} % of its highest capacity: it cannot grow further, and jobs will soon start late.`,
    });
  } else storageLow(database, metrics, props);
  alarms.whenAbove(database, "TransactionIdsHigh", TRANSACTION_IDS_MAX, {
    metric: metrics.of("MaximumUsedTransactionIDs", highest),
    periods: 3,
    description:
      "Vacuum cannot keep up, because a transaction stays open or for lack of time. At two billion transaction ids the database stops accepting writes.",
  });
}

/**
 * Only for an instance, whose storage grows in steps up to five times its initial size. A cluster's
 * storage has no fixed limit.
 */
function storageLow(database: Database, metrics: DatabaseMetrics, props: AlarmsOnDatabaseProps): void {
  const { alarms, storageGiB } = props;
  alarms.whenBelow(database, "StorageLow", Size.gibibytes(storageGiB).toBytes() / 10, {
    metric: metrics.of("FreeStorageSpace", { statistic: "Minimum", period: FIVE_MINUTES }),
    periods: 6,
    description:
      "For half an hour the database had little storage left and did not grow. When it is full, it stops.",
  });
}
