import { Duration, Stack } from "aws-cdk-lib";
import type { Metric, MetricOptions } from "aws-cdk-lib/aws-cloudwatch";
import { EventField, Rule, RuleTargetInput, Schedule } from "aws-cdk-lib/aws-events";
import { LambdaFunction } from "aws-cdk-lib/aws-events-targets";
import { FilterPattern, MetricFilter, type RetentionDays } from "aws-cdk-lib/aws-logs";
import {
  ContextAttribute,
  ScheduleExpression,
  Schedule as SchedulerSchedule,
  ScheduleTargetInput,
} from "aws-cdk-lib/aws-scheduler";
import { LambdaInvoke } from "aws-cdk-lib/aws-scheduler-targets";
import { Construct } from "constructs";
import { functionTimeoutSeconds } from "../../lib/config/function-limits.ts";
import type { LogEvent } from "../../lib/log/wording.ts";
import type { SharedTickEvent } from "../../lib/tick/share.ts";
import type { Database } from "../database/database.ts";
import type { Network } from "../network/network.ts";
import type { JobQueue } from "../queues/job-queue.ts";
import { acknowledgeWildcards } from "../watch/acknowledge.ts";
import type { Alarms } from "../watch/alarms.ts";
import type { Metrics } from "../watch/metrics.ts";
import { CarillonFunction } from "./carillon-function.ts";
import type { FunctionCode } from "./function-code.ts";
import type { TargetAllowList } from "./target-allow-list.ts";
import type { WebhookSender } from "./webhook-sender.ts";

export interface TickProps {
  readonly network: Network;
  readonly database: Database;
  readonly queues: readonly JobQueue[];
  /** The targets that commands of the SQL inbox may name. */
  readonly targets: TargetAllowList;
  readonly webhooks: WebhookSender;
  readonly alarms: Alarms;
  /**
   * The service that starts the tick each minute: a rule of EventBridge, or EventBridge Scheduler.
   */
  readonly tickBy: "rule" | "scheduler";
  /** How many ticks start each minute and share the schedules. */
  readonly tickShards: number;
  /** Whether nothing starts the tick. */
  readonly stopped: boolean;
  /** How many days of jobs the tick keeps. */
  readonly jobRetentionDays: number;
  /** How many days of the audit the tick keeps; 0 for all. */
  readonly auditRetentionDays: number;
  readonly metrics: Metrics;
  readonly logRetention: RetentionDays;
  readonly code: FunctionCode;
}

const TIMEOUT = Duration.seconds(functionTimeoutSeconds.tick);
/**
 * Jobs are made 180 s ahead: after two missed ticks, the third is the last that can still be on
 * time.
 */
const MISSED_TICKS_MAX = 2;
const asEventsGo = { retryAttempts: 0, maxEventAge: Duration.seconds(60) };
const EACH_MINUTE = { minute: "*" };
/** EventBridge's limit. */
const TARGETS_PER_RULE = 5;

/**
 * The log events of a tick that ran to its end, including one that ran out of time with work left.
 */
const heartbeats: LogEvent[] = ["tick.done", "tick.unfinished"];

/**
 * Makes jobs of due occurrences, each minute. A failed tick is not retried: the next minute's tick
 * does its work as well.
 */
export class Tick extends Construct {
  readonly fn: CarillonFunction;
  private readonly done: MetricFilter;

  constructor(scope: Construct, id: string, props: TickProps) {
    super(scope, id);

    const fn = new CarillonFunction(this, "Function", {
      entry: "tick",
      code: props.code,
      description: "Carillon: turns due occurrences into jobs and hands them to the queues",
      network: props.network,
      timeout: TIMEOUT,
      memoryMiB: 1_024,
      logRetention: props.logRetention,
    });
    this.fn = fn;
    props.database.admit(fn, "carillon_tick");
    for (const queue of props.queues) queue.admitSender(fn);
    props.targets.tell(fn);
    props.webhooks.tell(fn);
    fn.addEnvironment("RETENTION_DAYS", String(props.jobRetentionDays));
    fn.addEnvironment("AUDIT_RETENTION_DAYS", String(props.auditRetentionDays));

    // Lambda's asynchronous queue would otherwise keep the event for hours and retry it, as
    // EventBridge would.
    fn.configureAsyncInvoke(asEventsGo);
    if (props.tickBy === "rule") this.startByRule(props);
    else this.startByScheduler(props);

    this.done = new MetricFilter(this, "Done", {
      logGroup: fn.logs,
      filterPattern: FilterPattern.any(
        ...heartbeats.map((event) => FilterPattern.stringValue("$.event", "=", event)),
      ),
      metricNamespace: props.metrics.namespace,
      // The name contains the construct's address: where two deployments share a namespace by
      // mistake, the ticks of one must not count for the other.
      metricName: `${this.node.addr}-ticks-done`,
    });
    props.alarms.whenMissing(this, "Missing", {
      metric: this.finished(),
      missedMax: MISSED_TICKS_MAX,
      description:
        "No tick has finished for two minutes: jobs will soon be late. Nothing is lost; the next tick that succeeds makes all missing jobs. Check that the rule is enabled, that the database answers, and the tick's log.",
    });
    props.alarms.whenFailing(
      this,
      "Failing",
      fn.metricErrors({ period: Duration.minutes(1) }),
      "Three of the last five minutes had a tick that failed. Check the tick's log.",
    );
  }

  /** Ticks that ran to their end. */
  finished(options?: MetricOptions): Metric {
    return this.done.metric({ statistic: "Sum", period: Duration.minutes(1), ...options });
  }

  private startByRule({ tickShards: ticks, stopped }: TickProps): void {
    for (const [number, some] of inGroups(eventsOf(ticks, EventField.time), TARGETS_PER_RULE).entries()) {
      new Rule(this, numbered("EachMinute", number), {
        description: "Carillon's tick",
        schedule: Schedule.cron(EACH_MINUTE),
        enabled: !stopped,
        targets: some.map(
          (event) =>
            new LambdaFunction(this.fn, {
              ...asEventsGo,
              ...(event === undefined ? {} : { event: RuleTargetInput.fromObject(event) }),
            }),
        ),
      });
    }
  }

  private startByScheduler({ tickShards: ticks, stopped }: TickProps): void {
    // The CDK creates the scheduler's role in the stack, not in this construct.
    acknowledgeWildcards(
      Stack.of(this),
      [`${this.fn.functionArn}:*`],
      "The CDK allows the scheduler to invoke versions of the tick as well; there are none.",
    );
    for (const [number, event] of eventsOf(ticks, ContextAttribute.scheduledTime).entries()) {
      new SchedulerSchedule(this, numbered("ScheduledEachMinute", number), {
        description: "Carillon's tick",
        schedule: ScheduleExpression.cron(EACH_MINUTE),
        enabled: !stopped,
        target: new LambdaInvoke(this.fn, {
          ...asEventsGo,
          ...(event === undefined ? {} : { input: ScheduleTargetInput.fromObject(event) }),
        }),
      });
    }
  }
}

/** The event of each tick of a minute. A single tick gets no event and works every shard. */
function eventsOf(ticks: number, time: string): (SharedTickEvent | undefined)[] {
  if (ticks === 1) return [undefined];
  return Array.from({ length: ticks }, (_, tick) => ({ ticks, tick, time }));
}

function inGroups<Item>(items: readonly Item[], size: number): Item[][] {
  const groups = Math.ceil(items.length / size);
  return Array.from({ length: groups }, (_, group) => items.slice(group * size, (group + 1) * size));
}

/** The first has no number, so that its name stays the same when the number of ticks changes. */
function numbered(name: string, index: number): string {
  return index === 0 ? name : `${name}${index + 1}`;
}
