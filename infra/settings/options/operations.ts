// Written by `npm run settings` from infra/settings/operations.ts; a test compares the two.

/** Operations and monitoring. */
export interface OperationsOptions {
  /**
   * The managed policy that limits the rights of every role that is made here: its name in this
   * account, or its ARN. Default: none.
   */
  readonly permissionsBoundary?: string | undefined;
  /**
   * The most that callers of each prefix may have: `schedules=2000000` for every prefix,
   * `billing:=schedules=5000000` for one, `billing:=firesPerMinute=none` for no limit.
   * [Quotas](quotas.md) lists the kinds and their defaults. Default: those.
   */
  readonly quotas?: readonly string[] | undefined;
  /**
   * The weight of a prefix beside others that have [many jobs due at
   * once](jobs.md#many-jobs-of-one-team): `billing:=3` has three times the workers of others.
   * Default: 1 for each prefix.
   */
  readonly prefixWeights?: readonly string[] | undefined;
  /**
   * The service that starts the tick each minute: a `rule` of EventBridge, or EventBridge's
   * `scheduler`.
   *
   * @default rule
   */
  readonly tickBy?: "rule" | "scheduler" | undefined;
  /**
   * Whether ticks, workers and the queue of commands are stopped, as while a [restored
   * database](restore.md) is checked. The API answers meanwhile.
   *
   * @default false
   */
  readonly stopped?: boolean | undefined;
  /**
   * How many ticks start each minute, each with its own share of the shards. Each may hold three
   * database connections.
   *
   * @default 1
   */
  readonly tickShards?: number | undefined;
  /**
   * The events of jobs that are published to the event bus: some of started, succeeded, failed,
   * dead, skipped, missed, or none.
   *
   * @default dead,missed
   */
  readonly lifecycleEvents?:
    | readonly ("started" | "succeeded" | "failed" | "dead" | "skipped" | "missed")[]
    | undefined;
  /**
   * The event bus, of this account and region, that receives the events of jobs.
   *
   * @default default
   */
  readonly lifecycleBus?: string | undefined;
  /** The SNS topic that alarms notify. Default: none; alarms only show in CloudWatch. */
  readonly alarmTopicArn?: string | undefined;
  /**
   * The SNS topic that alarms notify whose severity is `ticket`: they can wait until the next
   * working day ([the runbook](runbook.md#alarms) has the severity of each). Default:
   * `alarmTopicArn`.
   */
  readonly ticketTopicArn?: string | undefined;
  /**
   * The address of the runbook that alarms link to, for deployments with a copy of their own.
   *
   * @default https://github.com/carillon-scheduler/carillon/blob/main/docs/runbook.md
   */
  readonly runbookUrl?: string | undefined;
  /**
   * The lateness in seconds above which an alarm is raised, when one job in a hundred exceeds it.
   *
   * @default 60
   */
  readonly alarmLatenessSeconds?: number | undefined;
  /**
   * The CloudWatch namespace of the metrics. Two deployments in one account and region need two
   * namespaces.
   *
   * @default Carillon
   */
  readonly metricsNamespace?: string | undefined;
  /**
   * The interval in minutes of two canary schedules, which prove the whole path and raise an alarm
   * when they do not arrive; 0 for none.
   *
   * @default 5
   */
  readonly canaryMinutes?: number | undefined;
  /**
   * Whether X-Ray traces the functions and a REST API. Traces are billed by the number that X-Ray
   * samples.
   *
   * @default false
   */
  readonly tracing?: boolean | undefined;
  /**
   * Whether to make a dashboard in CloudWatch; three per account are free.
   *
   * @default true
   */
  readonly dashboard?: boolean | undefined;
  /**
   * How many days logs are kept; one of the values that CloudWatch Logs supports.
   *
   * @default 30
   */
  readonly logRetentionDays?: number | undefined;
}
