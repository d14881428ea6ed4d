import { Duration } from "aws-cdk-lib";
import type { IVpc, SubnetSelection } from "aws-cdk-lib/aws-ec2";
import type { Secret } from "aws-cdk-lib/aws-secretsmanager";
import type { Queue } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import { functionTimeoutSeconds, targetWindow, workerBatchSize } from "../lib/config/function-limits.ts";
import { alarmOnTransactions } from "./alarm-on-transactions.ts";
import { Alarms } from "./alarms.ts";
import { alarmsOnDatabase } from "./alarms-on-database.ts";
import { type AlarmsOnJobsProps, alarmsOnJobs } from "./alarms-on-jobs.ts";
import { Api } from "./api.ts";
import { Canary } from "./canary.ts";
import { checkConnectionBudget, maxConnections } from "./connection-budget.ts";
import { Dashboard, type DashboardProps } from "./dashboard.ts";
import { Database } from "./database.ts";
import { checkDatabaseSettings } from "./database-settings.ts";
import { FunctionCode } from "./function-code.ts";
import { IngestQueue } from "./ingest-queue.ts";
import { JobQueue } from "./job-queue.ts";
import { LifecycleBus } from "./lifecycle-bus.ts";
import { Metrics } from "./metrics.ts";
import { Migration } from "./migration.ts";
import { Network } from "./network.ts";
import { checkedSettings, type Settings } from "./settings.ts";
import { TargetAllowList } from "./target-allow-list.ts";
import { Tick } from "./tick.ts";
import { traceAll } from "./tracing.ts";
import { WebhookSender } from "./webhook-sender.ts";
import { Worker } from "./worker.ts";

const FAST_TIMEOUT = Duration.seconds(functionTimeoutSeconds.fastWorker);
const SLOW_TIMEOUT = Duration.seconds(functionTimeoutSeconds.slowWorker);

/** What an app may bring of its own, beside the settings. */
export interface CarillonParts {
  /** The module that exports `handlers`, as a path. Default: functions/handlers.ts in this repository, and none in the package. */
  readonly handlersEntry?: string;
  /** The VPC to stand in. Default: the one that `vpcId` names, else one of our own. */
  readonly vpc?: IVpc;
  /** The subnets of that VPC to stand in, in two zones at least. Default: its private ones. */
  readonly subnets?: SubnetSelection;
}

/** Every setting of infra/settings/ by its name, each with its default; and what an app brings of its own. */
export type CarillonProps = Partial<Settings> & CarillonParts;

interface Watched
  extends Omit<AlarmsOnJobsProps, "latenessSeconds">,
    Omit<DashboardProps, "serverErrors" | "canary"> {
  readonly api: Api;
  readonly connectionsMax: number;
}

/** Everything, in the order in which a job comes by: HTTPS → schedules → tick → queues → workers → targets. */
export class Carillon extends Construct {
  /** Where the API answers. */
  readonly url: string;
  /** Where a record for the API's own domain name has to lead to. Undefined: it has none, or Route 53 has the record already. */
  readonly apiDomainTarget: string | undefined;
  /** Where commands are sent to; the target of rules that watch events. */
  readonly ingestQueue: Queue;
  /** The first admin token of the API. */
  readonly adminToken: Secret;

  constructor(scope: Construct, id: string, { handlersEntry, vpc, subnets, ...given }: CarillonProps = {}) {
    super(scope, id);
    const settings = checkedSettings(given);
    const code = new FunctionCode(handlersEntry);
    const logRetention = settings.logRetentionDays;

    const alarms = new Alarms(this, "Alarms", {
      topicArn: settings.alarmTopicArn,
      runbookUrl: settings.runbookUrl,
    });
    const metrics = new Metrics(settings.metricsNamespace);
    checkDatabaseSettings(settings, vpc !== undefined || settings.vpcId !== undefined);
    const network = new Network(this, "Network", { ...settings, vpc, subnets });
    checkConnectionBudget(settings);
    const connectionsMax = maxConnections(settings);
    const database = new Database(this, "Database", { network, settings, maxConnections: connectionsMax });
    const migration = new Migration(this, "Migration", { network, database, logRetention, code });

    const fast = new JobQueue(this, "Fast", {
      workerTimeout: FAST_TIMEOUT,
      variable: "FAST_QUEUE_URL",
      alarms,
    });
    const slow = new JobQueue(this, "Slow", {
      workerTimeout: SLOW_TIMEOUT,
      variable: "SLOW_QUEUE_URL",
      alarms,
    });
    const queues = [fast, slow];
    const shared = { network, database, queues, logRetention, code };

    const targets = new TargetAllowList(this, {
      queueArns: settings.targetQueueArns,
      busArns: settings.targetBusArns,
      functionArns: settings.targetFunctionArns,
    });
    const webhooks = new WebhookSender(this, "WebhookSender", {
      denyNetworks: settings.webhookDenyNetworks,
      logRetention,
      code,
    });

    const api = new Api(this, "Api", {
      ...shared,
      targets,
      webhooks,
      settings,
    });
    const ingest = new IngestQueue(this, "Ingest", {
      ...shared,
      targets,
      webhooks,
      alarms,
      prefix: settings.ingestPrefix,
      maxConcurrency: settings.ingestConcurrency,
    });
    const lifecycle = new LifecycleBus(this, {
      events: settings.lifecycleEvents,
      busName: settings.lifecycleBus,
    });
    const tick = new Tick(this, "Tick", { ...settings, ...shared, targets, webhooks, alarms, metrics });
    const fastWorker = new Worker(this, "FastWorker", {
      ...shared,
      source: fast,
      user: "carillon_worker",
      description: "Carillon: delivers jobs to queues and event buses, many together",
      timeout: FAST_TIMEOUT,
      memoryMiB: 1_024,
      batchSize: workerBatchSize.fast,
      maxConcurrency: settings.fastConcurrency,
    });
    targets.admitSender(fastWorker.fn);
    const slowWorker = new Worker(this, "SlowWorker", {
      ...shared,
      source: slow,
      // Handlers make and end schedules in their own transactions.
      user: "carillon_handler",
      description: "Carillon: runs handlers, invokes functions and sends webhooks",
      timeout: SLOW_TIMEOUT,
      memoryMiB: 1_024,
      // Alone: a handler that hangs holds up nobody's parcel but its own.
      batchSize: workerBatchSize.slow,
      maxConcurrency: settings.slowConcurrency,
    });
    slowWorker.fn.addEnvironment("TARGET_WINDOW", String(targetWindow(settings.slowConcurrency)));
    targets.admitInvoker(slowWorker.fn);
    webhooks.admitSender(slowWorker.fn);

    for (const telling of [tick, fastWorker, slowWorker]) lifecycle.admit(telling.fn);

    for (const measuring of [ingest, tick, fastWorker, slowWorker]) metrics.tell(measuring.fn);
    const working = { ingest, tick, fast, slow, fastWorker, slowWorker };
    this.watchOver(settings, { alarms, metrics, api, ...working, database, connectionsMax });

    // A release's code meets a database of that release; when the stack goes, whatever queries goes first.
    for (const querying of [api, ingest, tick, fastWorker, slowWorker])
      querying.node.addDependency(migration);

    this.url = api.url;
    this.apiDomainTarget = api.domainTarget;
    this.ingestQueue = ingest.queue;
    this.adminToken = migration.adminToken;
  }
  /** Once all of it stands: what tells how it goes. */
  private watchOver(settings: Settings, watched: Watched): void {
    const { alarms, metrics, api, tick, fastWorker, database, connectionsMax } = watched;
    const { serverErrors } = api;
    alarms.whenFailing(
      api,
      "Failing",
      serverErrors,
      "In three of the last five minutes the API answered some request with 5xx.",
    );
    alarmsOnJobs({ ...watched, latenessSeconds: settings.alarmLatenessSeconds });
    alarmsOnDatabase(database, { alarms, storageGiB: settings.databaseStorageGiB, connectionsMax });
    alarmOnTransactions({ alarms, metrics, database });
    const canary = settings.canaryMinutes > 0;
    if (canary) {
      const every = Duration.minutes(settings.canaryMinutes);
      new Canary(this, "Canary", { every, tick: tick.fn, fastWorker: fastWorker.fn, metrics, alarms });
    }
    if (settings.tracing) traceAll(this);
    if (settings.dashboard) new Dashboard(this, "Dashboard", { ...watched, serverErrors, canary });
  }
}
