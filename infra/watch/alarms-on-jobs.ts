import { Duration } from "aws-cdk-lib";
import { type IMetric, MathExpression } from "aws-cdk-lib/aws-cloudwatch";
import type { Api } from "../api/api.ts";
import type { Tick } from "../functions/tick.ts";
import type { WebhookSender } from "../functions/webhook-sender.ts";
import type { Worker } from "../functions/worker.ts";
import type { IngestQueue } from "../queues/ingest-queue.ts";
import type { JobQueue } from "../queues/job-queue.ts";
import type { Alarms } from "./alarms.ts";
import type { Metrics } from "./metrics.ts";

export interface AlarmsOnJobsProps {
  readonly alarms: Alarms;
  readonly metrics: Metrics;
  /** The tick measures the existing rows. */
  readonly tick: Tick;
  readonly fast: JobQueue;
  readonly slow: JobQueue;
  readonly ingest: IngestQueue;
  readonly fastWorker: Worker;
  readonly slowWorker: Worker;
  readonly api: Api;
  readonly webhooks: WebhookSender;
  /** The lateness in seconds that one job in a hundred may exceed. */
  readonly latenessSeconds: number;
}

const OVERDUE_MAX = Duration.minutes(5);
const PLAN_LAG_MAX = Duration.minutes(2);
const FIVE_MINUTES = Duration.minutes(5);
const OWED_FOR_HOURS = 2;
/**
 * SQS delivers no more messages of a queue while this many are in flight. Failed messages stay in
 * flight until they become visible again.
 */
const IN_FLIGHT_MAX = 120_000;
const IN_FLIGHT_SHARE_MAX = 0.8;

/** Alarms on the state of jobs, from the functions' own metrics. */
export function alarmsOnJobs(props: AlarmsOnJobsProps): void {
  alarmsOnJobCounts(props);
  alarmOnQuarantine(props);
  alarmOnMoves(props);
  alarmsOnLostPulses(props);
  alarmsOnLateness(props);
  alarmsOnAwsLimits(props);
}

function alarmsOnJobCounts({ alarms, metrics, tick }: AlarmsOnJobsProps): void {
  alarms.whenAbove(tick, "Behind", PLAN_LAG_MAX.toMilliseconds(), {
    metric: metrics.planLag(),
    periods: 3,
    description:
      "Ticks finish, but do not get through all due occurrences: jobs are made late. Nothing is lost.",
  });
  alarms.whenAbove(tick, "JobsOverdue", OVERDUE_MAX.toMilliseconds(), {
    metric: metrics.overdue(),
    periods: 3,
    description:
      "A job has been due for five minutes and no worker has claimed it: workers cannot keep up, or do not run.",
    article: "Jobs overdue",
  });
  alarms.whenAbove(tick, "JobsDead", 0, {
    // The number of existing dead jobs, since a tick may end jobs as well as a worker. Only an
    // increase raises the alarm.
    metric: new MathExpression({
      expression: "DIFF(dead)",
      usingMetrics: {
        dead: metrics.deadJobs({ period: FIVE_MINUTES }),
      },
      period: FIVE_MINUTES,
      label: "Jobs that have died",
    }),
    periods: 1,
    description: "Jobs have failed their last attempt and will not run again until an operator retries them.",
    article: "Jobs dead",
  });
  alarms.whenAbove(tick, "JobsOwed", 0, {
    metric: metrics.owedJobs({ statistic: "Minimum", period: FIVE_MINUTES }),
    periods: OWED_FOR_HOURS * 12,
    description:
      "Catch-up and backfills become jobs slowly, and for two hours there was always one waiting: the backlog does not shrink, or is very large.",
    article: "Jobs owed",
  });
}

/** A row that fails once and succeeds a minute later needs no action. */
function alarmOnQuarantine({ alarms, metrics, tick }: AlarmsOnJobsProps): void {
  alarms.whenAbove(tick, "RowsSetAside", 0, {
    metric: metrics.quarantinedRows({ statistic: "Minimum", period: FIVE_MINUTES }),
    periods: 3,
    description:
      "For a quarter of an hour, a part of Carillon has failed on some rows. Each is in quarantine and retried, and the other rows go on.",
    article: "Rows set aside",
  });
}

function alarmOnMoves({ alarms, metrics, tick }: AlarmsOnJobsProps): void {
  alarms.whenAbove(tick, "MoveUnfinished", 0, {
    metric: metrics.ofTick("UnfinishedMoves", { statistic: "Maximum", period: Duration.minutes(1) }),
    periods: 1,
    description:
      "A move to another installation has kept schedules for a quarter of an hour: they run in neither installation, or late, until the command runs again.",
    article: "Move unfinished",
  });
}

/**
 * Pulses have no rows that could count as dead or overdue. The tick reports them: a worker that
 * died may not have written its own log line.
 */
function alarmsOnLostPulses({ alarms, metrics, tick }: AlarmsOnJobsProps): void {
  const inFiveMinutes = { statistic: "Sum", period: FIVE_MINUTES };
  const article = "Pulses lost";
  alarms.whenAbove(tick, "PulsesLost", 0, {
    metric: metrics.ofTick("PulsesLost", inFiveMinutes),
    periods: 1,
    description:
      "Pulses were given up: their target did not accept them for three minutes, or refused them for good. They will not be sent.",
    article,
  });
  alarms.whenAbove(tick, "PulsesPassedOver", 0, {
    metric: metrics.ofTick("PulseSecondsPassed", inFiveMinutes),
    periods: 1,
    description:
      "Seconds were passed over with all of their pulses: for two minutes no tick or worker took them, or one worker after another died on them.",
    article,
  });
}

function alarmsOnLateness({ alarms, metrics, fast, slow, latenessSeconds }: AlarmsOnJobsProps): void {
  for (const [name, queue] of [
    ["fast", fast],
    ["slow", slow],
  ] as const) {
    alarms.whenAbove(queue, "JobsLate", latenessSeconds * 1_000, {
      metric: metrics.lateness(name, { period: FIVE_MINUTES }),
      periods: 3,
      description: `For a quarter of an hour, one job in a hundred of the ${name} queue started more than ${latenessSeconds} seconds late.`,
      article: "Jobs late",
    });
  }
}

/** Limits of AWS, which Carillon's own metrics do not show. */
function alarmsOnAwsLimits({
  alarms,
  tick,
  ingest,
  fast,
  slow,
  fastWorker,
  slowWorker,
  api,
  webhooks,
}: AlarmsOnJobsProps): void {
  const inFlight = IN_FLIGHT_MAX * IN_FLIGHT_SHARE_MAX;
  for (const each of [fast, slow, ingest]) {
    alarms.whenAbove(each, "MessagesInFlight", inFlight, {
      metric: each.queue.metricApproximateNumberOfMessagesNotVisible({
        statistic: "Maximum",
        period: Duration.minutes(1),
      }),
      periods: 3,
      description: `More than ${inFlight} messages of this queue are in flight, and at ${IN_FLIGHT_MAX} SQS hands out no more: functions receive messages and fail on them.`,
      article: "Messages in flight",
    });
  }
  const functions = { tick, ingest, fastWorker, slowWorker, api, webhooks };
  const throttles: Record<string, IMetric> = {};
  for (const [name, { fn }] of Object.entries(functions))
    throttles[name] = fn.metricThrottles({ statistic: "Sum", period: Duration.minutes(1) });
  alarms.whenFailing(
    tick,
    "FunctionsThrottled",
    new MathExpression({
      expression: Object.keys(throttles).join(" + "),
      usingMetrics: throttles,
      period: Duration.minutes(1),
      label: "Throttles",
    }),
    "In three of the last five minutes the tick, a worker, the API or the function that takes commands or sends webhooks was throttled: the account has reached its limit of concurrent functions.",
    "Functions throttled",
  );
}
