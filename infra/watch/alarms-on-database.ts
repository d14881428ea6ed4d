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
  /** The memory of the instance. Undefined: it is not known. */
  readonly memoryMiB: number | undefined;
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
/**
 * The shares of an instance's memory at which its alarms rise, for a large instance a gibibyte. The
 * default settings leave more memory free at full load.
 */
const FREE_MEMORY_SHARE_MIN = 1 / 20;
const SWAP_SHARE_MAX = 1 / 8;
const MEMORY_BOUND_MIB = 1_024;
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
  } else {
    storageLow(database, metrics, props);
    memoryLow(database, metrics, props);
    creditsCharged(database, metrics, alarms);
  }
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

/** Only for an instance: a cluster takes more memory when it needs more, and has an alarm on its capacity. */
function memoryLow(database: Database, metrics: DatabaseMetrics, props: AlarmsOnDatabaseProps): void {
  const { alarms, memoryMiB } = props;
  if (memoryMiB === undefined) return;
  const bound = (share: number) => Math.floor(Math.min(memoryMiB * share, MEMORY_BOUND_MIB));
  const [free, swap] = [bound(FREE_MEMORY_SHARE_MIN), bound(SWAP_SHARE_MAX)];
  const average = { statistic: "Average", period: FIVE_MINUTES };
  alarms.whenBelow(database, "MemoryLow", Size.mebibytes(free).toBytes(), {
    metric: metrics.of("FreeableMemory", average),
    periods: 3,
    description:
      "For a quarter of an hour the database had little free memory. When none is left it swaps, and then Postgres restarts.",
  });
  alarms.whenAbove(database, "SwapHigh", Size.mebibytes(swap).toBytes(), {
    metric: metrics.of("SwapUsage", average),
    periods: 3,
    description:
      "For a quarter of an hour the database swapped: its memory is too small for its connections, and everything becomes slow.",
  });
}

/**
 * A burstable class is not slowed down without credits, but billed: the alarm is on the charge. Other
 * classes have no such metric.
 */
function creditsCharged(database: Database, metrics: DatabaseMetrics, alarms: Alarms): void {
  alarms.whenAbove(database, "CpuCreditsCharged", 0, {
    metric: metrics.of("CPUSurplusCreditsCharged", { statistic: "Maximum", period: FIVE_MINUTES }),
    periods: 12,
    description:
      "For an hour the database was billed for processor time above the baseline of its class. Nothing is late, but it costs extra.",
  });
}
