import type { Metric, MetricOptions } from "aws-cdk-lib/aws-cloudwatch";
import type { Connections, IConnectable } from "aws-cdk-lib/aws-ec2";
import type { Grant, IGrantable } from "aws-cdk-lib/aws-iam";
import type { Secret } from "aws-cdk-lib/aws-secretsmanager";
import type { Queue } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import { Api } from "./api/api.ts";
import { appSettings } from "./app-settings.ts";
import { atCaller } from "./at-caller.ts";
import { maxConnections } from "./database/connection-budget.ts";
import { Database } from "./database/database.ts";
import { Migration } from "./database/migration.ts";
import { Archive } from "./functions/archive.ts";
import { FunctionCode } from "./functions/function-code.ts";
import { warnOfMissingWays } from "./functions/handler-ways.ts";
import { Handlers } from "./functions/handlers.ts";
import { limitRoles } from "./functions/limit-roles.ts";
import { hasPage, Page } from "./functions/page.ts";
import { StackSchedules } from "./functions/stack-schedules.ts";
import { TargetAllowList } from "./functions/target-allow-list.ts";
import { Tick } from "./functions/tick.ts";
import { traceAll } from "./functions/tracing.ts";
import { WebhookSender } from "./functions/webhook-sender.ts";
import { fastWorkerOf, slowWorkerOf } from "./functions/workers.ts";
import { ownKeys } from "./keys/own-keys.ts";
import { endpointUses } from "./network/endpoint-uses.ts";
import { Network } from "./network/network.ts";
import type { CarillonParts } from "./parts.ts";
import { IngestQueue } from "./queues/ingest-queue.ts";
import { jobQueues } from "./queues/job-queues.ts";
import { LifecycleBus } from "./queues/lifecycle-bus.ts";
import type { ScheduleHome } from "./schedule/schedule-props.ts";
import type { GivenSettings } from "./settings/given.ts";
import { Alarms } from "./watch/alarms.ts";
import { Metrics } from "./watch/metrics.ts";
import { watchOver } from "./watch/watch-over.ts";

/**
 * Every setting of infra/settings/ by its name, each with its default, and the parts that an app
 * passes in code.
 */
export interface CarillonProps extends GivenSettings, CarillonParts {}

/**
 * The whole of Carillon, in the order of a job's path: HTTPS → schedules → tick → queues → workers
 * → targets.
 */
export class Carillon extends Construct implements IConnectable, ScheduleHome {
  /** The address of the API. */
  readonly url: string;
  /** The address of the page. Undefined: the settings leave it out. */
  readonly pageUrl: string | undefined;
  /**
   * The name that a DNS record for the API's domain must point to. Undefined: there is no domain,
   * or Route 53 already has the record.
   */
  readonly apiDomainTarget: string | undefined;
  /** The queue that takes commands; the target of rules that watch events. */
  readonly ingestQueue: Queue;
  /** The first admin token of the API. */
  readonly adminToken: Secret;
  private readonly network: Network;
  private readonly api: Api;
  private readonly tick: Tick;
  private readonly ingest: IngestQueue;
  private readonly metrics: Metrics;
  private readonly ownHandlers: Handlers | undefined;
  private readonly makeStackSchedules: () => StackSchedules;
  private stackSchedules: StackSchedules | undefined;

  constructor(scope: Construct, id: string, { handlersEntry, vpc, subnets, ...given }: CarillonProps = {}) {
    super(scope, id);
    const settings = atCaller(Carillon, () => appSettings(given, vpc));
    limitRoles(this, settings.permissionsBoundary);
    const keys = ownKeys(this, settings);
    const code = atCaller(Carillon, () => new FunctionCode(handlersEntry));
    const logRetention = settings.logRetentionDays;
    const alarms = new Alarms(this, "Alarms", {
      topicArn: settings.alarmTopicArn,
      ticketTopicArn: settings.ticketTopicArn,
      runbookUrl: settings.runbookUrl,
    });
    const metrics = new Metrics(settings.metricsNamespace);

    const archive =
      settings.archiveBucket === undefined
        ? undefined
        : { bucket: settings.archiveBucket, prefix: settings.archivePrefix };
    const targets = new TargetAllowList(this, {
      queueArns: settings.targetQueueArns,
      busArns: settings.targetBusArns,
      eventSources: settings.targetEventSources,
      functionArns: settings.targetFunctionArns,
      prefixes: settings.targetPrefixes,
    });
    const network = atCaller(
      Carillon,
      () =>
        new Network(this, "Network", {
          ...settings,
          vpc,
          subnets,
          archive,
          uses: endpointUses(settings, targets),
        }),
    );
    this.network = network;
    const database = atCaller(
      Carillon,
      () =>
        new Database(this, "Database", { network, settings, keys, maxConnections: maxConnections(settings) }),
    );
    const webhooks = new WebhookSender(this, "WebhookSender", {
      denyNetworks: settings.webhookDenyNetworks,
      logRetention,
      code,
    });
    const migration = new Migration(this, "Migration", {
      network,
      database,
      webhooks,
      keys,
      settings,
      logRetention,
      code,
    });

    const { fast, slow } = jobQueues(this, { alarms, key: keys.queues });
    const shared = { network, database, queues: [fast, slow], targets, webhooks, logRetention, code };

    const page = hasPage(settings) ? new Page(this, "Page", { settings, code, logRetention }) : undefined;
    const api = atCaller(Carillon, () => new Api(this, "Api", { ...shared, settings, page }));
    const ingest = new IngestQueue(this, "Ingest", {
      ...shared,
      alarms,
      key: keys.queues,
      prefix: settings.ingestPrefix,
      watchRuleArns: settings.watchRuleArns,
      senders: settings.commandSenders,
      maxConcurrency: settings.ingestConcurrency,
      stopped: settings.stopped,
    });
    const tick = new Tick(this, "Tick", { ...settings, ...shared, alarms, metrics });
    const fastWorker = fastWorkerOf(this, {
      ...shared,
      source: fast,
      reserved: [fast.deadLetters, slow.deadLetters, ingest.queue, ingest.deadLetters],
      maxConcurrency: settings.fastConcurrency,
      stopped: settings.stopped,
    });
    for (const queue of given.targetQueues ?? [])
      queue.encryptionMasterKey?.grantEncryptDecrypt(fastWorker.fn);
    const slowWorker = slowWorkerOf(this, {
      ...shared,
      source: slow,
      maxConcurrency: settings.slowConcurrency,
      stopped: settings.stopped,
    });

    const lifecycle = new LifecycleBus(this, {
      events: settings.lifecycleEvents,
      busName: settings.lifecycleBus,
    });
    for (const telling of [tick, fastWorker, slowWorker]) lifecycle.admit(telling.fn);
    for (const measuring of [ingest, tick, fastWorker, slowWorker]) metrics.tell(measuring.fn);
    const working = { api, webhooks, ingest, tick, fast, slow, fastWorker, slowWorker };
    watchOver(this, { settings, alarms, metrics, database, queueKey: keys.queues, ...working });
    if (archive !== undefined) {
      const archiving = new Archive(this, "Archive", {
        ...settings,
        ...shared,
        place: archive,
        tick,
        alarms,
        metrics,
      });
      archiving.node.addDependency(migration);
    }
    // These functions write the lines that name a job.
    page?.linkLogs([fastWorker.fn.logs, slowWorker.fn.logs, webhooks.fn.logs]);
    if (settings.tracing) traceAll(this);

    // The migration runs before any function that queries, so that a release's code meets a
    // database of that release. When the stack is deleted, the functions go before the database.
    for (const querying of [api, ingest, tick, fastWorker, slowWorker])
      querying.node.addDependency(migration);
    // The page calls the API, so it is replaced when the API is, not before.
    page?.node.addDependency(migration);

    this.api = api;
    this.tick = tick;
    this.metrics = metrics;
    const imports = [fastWorker.fn, tick.fn, api.fn, ingest.fn];
    this.ownHandlers = code.hasHandlers
      ? new Handlers({ runs: slowWorker.fn, imports, connections: () => this.connections })
      : undefined;
    if (code.hasHandlers) warnOfMissingWays(slowWorker.fn, network.missingGateways);
    this.makeStackSchedules = () => {
      const after = [migration, network, database];
      const made = new StackSchedules(this, "StackSchedules", { api, code, logRetention, after });
      if (settings.tracing) traceAll(made);
      return made;
    };
    if (settings.stackSchedules) this.stackSchedules = this.makeStackSchedules();
    this.url = api.url;
    this.pageUrl = page === undefined ? undefined : `${api.url}/`;
    this.apiDomainTarget = api.domainTarget;
    this.ingest = ingest;
    this.ingestQueue = ingest.queue;
    this.adminToken = migration.adminToken;
  }

  /**
   * The app's handlers, to give them rights, variables and ways out:
   * `table.grantReadWriteData(carillon.handlers)`. Throws where the app passes none.
   */
  get handlers(): Handlers {
    if (this.ownHandlers !== undefined) return this.ownHandlers;
    throw new Error(
      "handlers: there are none; give the path of the module that exports `handlers` as handlersEntry",
    );
  }

  /**
   * The service token of `Custom::CarillonSchedule`, by which other stacks define schedules. The
   * function behind it is made when this is first read, also by a `Schedule`.
   */
  get scheduleServiceToken(): string {
    this.stackSchedules ??= this.makeStackSchedules();
    return this.stackSchedules.fn.functionArn;
  }

  /**
   * With apiAuth iam: lets a role or user sign requests to the API. The API also needs an entry in
   * `apiPrincipals` that names it with its scope. Throws with tokens and JWTs, because a grant would
   * have no effect.
   */
  grantInvokeApi(grantee: IGrantable): Grant {
    return atCaller(this.grantInvokeApi, () => this.api.grantInvoke(grantee));
  }

  /**
   * Lets a caller send commands to the ingest queue, which asks for no token. Throws for a role or
   * user where `commandSenders` lists those that may send, because a grant would have no effect.
   */
  grantSendCommands(grantee: IGrantable): Grant {
    return atCaller(this.grantSendCommands, () => this.ingest.grantSend(grantee));
  }

  /** Ticks that ran to their end: each minute one, or as many as tickShards. */
  metricTicks(options?: MetricOptions): Metric {
    return this.tick.finished(options);
  }

  /** By how many milliseconds the slowest shard's plan is behind; 0 is healthy. */
  metricPlanLag(options?: MetricOptions): Metric {
    return this.metrics.planLag(options).attachTo(this);
  }

  /** For how many milliseconds the oldest due job has waited for a worker. */
  metricOverdue(options?: MetricOptions): Metric {
    return this.metrics.overdue(options).attachTo(this);
  }

  /** By how many milliseconds jobs of a queue start late. Default: the 99th percentile. */
  metricLateness(queue: "fast" | "slow", options?: MetricOptions): Metric {
    return this.metrics.lateness(queue, options).attachTo(this);
  }

  /** Dead jobs that were not retried. */
  metricDeadJobs(options?: MetricOptions): Metric {
    return this.metrics.deadJobs(options).attachTo(this);
  }

  /** Occurrences of catch-up and backfills that have not become jobs yet. */
  metricOwedJobs(options?: MetricOptions): Metric {
    return this.metrics.owedJobs(options).attachTo(this);
  }

  /** Rows in quarantine, on which a part of Carillon failed. */
  metricQuarantinedRows(options?: MetricOptions): Metric {
    return this.metrics.quarantinedRows(options).attachTo(this);
  }

  /**
   * The connections of all functions, handlers included: `carillon.connections.allowTo(database,
   * Port.tcp(5432))`. Throws where functions are outside of any VPC: a rule would have no effect.
   */
  get connections(): Connections {
    if (this.network.place !== undefined) return this.network.place.functions.connections;
    throw new Error(
      "connections: functionsInVpc is false, so the functions have no security group to which a rule could apply; leave functionsInVpc out, or allow their calls at the other side",
    );
  }
}
