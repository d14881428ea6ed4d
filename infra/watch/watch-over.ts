import { Duration } from "aws-cdk-lib";
import type { IKey } from "aws-cdk-lib/aws-kms";
import type { Construct } from "constructs";
import { instanceMemoryMiB } from "../database/class-memory.ts";
import { maxConnections } from "../database/connection-budget.ts";
import { Canary } from "../functions/canary.ts";
import type { Settings } from "../settings.ts";
import { alarmOnLocks } from "./alarm-on-locks.ts";
import { alarmOnTransactions } from "./alarm-on-transactions.ts";
import { alarmsOnDatabase } from "./alarms-on-database.ts";
import { type AlarmsOnJobsProps, alarmsOnJobs } from "./alarms-on-jobs.ts";
import { Dashboard, type DashboardProps } from "./dashboard.ts";

export interface WatchOverProps
  extends Omit<AlarmsOnJobsProps, "latenessSeconds">,
    Omit<DashboardProps, "serverErrors" | "canary"> {
  readonly settings: Settings;
  /** The key that encrypts messages of queues. Default: one of SQS. */
  readonly queueKey: IKey | undefined;
}

/** Monitoring, made after all other parts: alarms and the dashboard. */
export function watchOver(scope: Construct, { settings, queueKey, ...watched }: WatchOverProps): void {
  const { alarms, metrics, tick, fastWorker, database, api } = watched;
  const { serverErrors } = api;
  alarms.whenFailing(
    api,
    "Failing",
    serverErrors,
    "In three of the last five minutes the API answered requests with 5xx.",
  );
  alarmsOnJobs({ ...watched, latenessSeconds: settings.alarmLatenessSeconds });
  alarmsOnDatabase(database, {
    alarms,
    storageGiB: settings.databaseStorageGiB,
    connectionsMax: maxConnections(settings),
    memoryMiB: instanceMemoryMiB(settings),
  });
  alarmOnTransactions({ alarms, metrics, database });
  alarmOnLocks({ alarms, metrics, database });
  const canary = settings.canaryMinutes > 0;
  if (canary) {
    const every = Duration.minutes(settings.canaryMinutes);
    const workers = { tick: tick.fn, fastWorker: fastWorker.fn };
    new Canary(scope, "Canary", { every, ...workers, metrics, alarms, queueKey });
  }
  if (settings.dashboard) new Dashboard(scope, "Dashboard", { ...watched, serverErrors, canary });
}
