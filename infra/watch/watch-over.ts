import { Duration } from "aws-cdk-lib";
import type { Construct } from "constructs";
import type { Api } from "../api/api.ts";
import { maxConnections } from "../database/connection-budget.ts";
import { Canary } from "../functions/canary.ts";
import type { Settings } from "../settings.ts";
import { alarmOnTransactions } from "./alarm-on-transactions.ts";
import { alarmsOnDatabase } from "./alarms-on-database.ts";
import { type AlarmsOnJobsProps, alarmsOnJobs } from "./alarms-on-jobs.ts";
import { Dashboard, type DashboardProps } from "./dashboard.ts";

export interface WatchOverProps
  extends Omit<AlarmsOnJobsProps, "latenessSeconds">,
    Omit<DashboardProps, "serverErrors" | "canary"> {
  readonly api: Api;
  readonly settings: Settings;
}

/** Monitoring, made after all other parts: alarms and the dashboard. */
export function watchOver(scope: Construct, { settings, api, ...watched }: WatchOverProps): void {
  const { alarms, metrics, tick, fastWorker, database } = watched;
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
  });
  alarmOnTransactions({ alarms, metrics, database });
  const canary = settings.canaryMinutes > 0;
  if (canary) {
    const every = Duration.minutes(settings.canaryMinutes);
    new Canary(scope, "Canary", { every, tick: tick.fn, fastWorker: fastWorker.fn, metrics, alarms });
  }
  if (settings.dashboard) new Dashboard(scope, "Dashboard", { ...watched, serverErrors, canary });
}
