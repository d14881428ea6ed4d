import { Duration, Size } from "aws-cdk-lib";
import type { Database } from "../database/database.ts";
import type { DatabaseMetrics } from "../database/database-server.ts";
import type { Alarms } from "./alarms.ts";

export interface AlarmsOnDatabaseProps {
  readonly alarms: Alarms;
  /** What the database starts with; it grows by itself when a tenth of what it has is left. */
  readonly storageGiB: number;
  /** How many connections it takes. */
  readonly connectionsMax: number;
}

const CPU_PERCENT_MAX = 80;
const CONNECTIONS_SHARE_MAX = 0.8;
/** Postgres stops taking writes at 2³¹; its own emergency vacuum begins at 200 million, so that this many mean that it gets nowhere. */
const TRANSACTION_IDS_MAX = 500_000_000;
const CAPACITY_PERCENT_MAX = 90;
/** Of the connections that there may be: a session of a tick or a request pins its own, for the minute that it lasts at most. */
const PINNED_SHARE_MAX = 0.5;
const FIVE_MINUTES = Duration.minutes(5);

/** What stops everything when it runs out. */
export function alarmsOnDatabase(database: Database, props: AlarmsOnDatabaseProps): void {
  const { metrics } = database;
  // Who runs the database watches over it.
  if (metrics === undefined) return;
  const { alarms, connectionsMax } = props;
  const connections = Math.floor(connectionsMax * CONNECTIONS_SHARE_MAX);
  const highest = { statistic: "Maximum", period: FIVE_MINUTES };
  alarms.whenAbove(database, "CpuHigh", CPU_PERCENT_MAX, {
    metric: metrics.of("CPUUtilization", { statistic: "Average", period: FIVE_MINUTES }),
    periods: 3,
    description: `For a quarter of an hour the database used more than ${CPU_PERCENT_MAX} % of its processors: soon jobs start late.`,
  });
  alarms.whenAbove(database, "ConnectionsHigh", connections, {
    metric: metrics.of("DatabaseConnections", highest),
    periods: 2,
    description: `The database holds more than ${connections} of ${connectionsMax} connections: when there are no more, functions are turned away.`,
  });
  if (database.pinned !== undefined) {
    const pinned = Math.floor(connections * PINNED_SHARE_MAX);
    alarms.whenAbove(database, "ConnectionsPinned", pinned, {
      metric: database.pinned,
      periods: 15,
      description: `For a quarter of an hour RDS Proxy could not share more than ${pinned} of its connections: soon functions wait for one.`,
    });
  }
  if (metrics.kind === "serverless") {
    alarms.whenAbove(database, "CapacityHigh", CAPACITY_PERCENT_MAX, {
      metric: metrics.of("ACUUtilization", { statistic: "Average", period: FIVE_MINUTES }),
      periods: 3,
      description: `For a quarter of an hour the database was at more than ${CAPACITY_PERCENT_MAX} % of its highest capacity: it grows no further, and soon jobs start late.`,
    });
  } else storageLow(database, metrics, props);
  alarms.whenAbove(database, "TransactionIdsHigh", TRANSACTION_IDS_MAX, {
    metric: metrics.of("MaximumUsedTransactionIDs", highest),
    periods: 3,
    description:
      "Vacuum does not get through, because of a transaction that stays open or for lack of time. At two thousand million the database takes no writes any more.",
  });
}

/** Of an instance, whose storage grows in steps and to five times what it began with; a cluster's has no end that is ours to watch. */
function storageLow(database: Database, metrics: DatabaseMetrics, props: AlarmsOnDatabaseProps): void {
  const { alarms, storageGiB } = props;
  alarms.whenBelow(database, "StorageLow", Size.gibibytes(storageGiB).toBytes() / 10, {
    metric: metrics.of("FreeStorageSpace", { statistic: "Minimum", period: FIVE_MINUTES }),
    periods: 6,
    description:
      "For half an hour the database had little storage left and did not grow. When it is full, it stops.",
  });
}
