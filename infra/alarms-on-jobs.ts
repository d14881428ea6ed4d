import { Duration } from "aws-cdk-lib";
import { MathExpression } from "aws-cdk-lib/aws-cloudwatch";
import type { Alarms } from "./alarms.ts";
import type { JobQueue } from "./job-queue.ts";
import type { Metrics } from "./metrics.ts";
import type { Tick } from "./tick.ts";

export interface AlarmsOnJobsProps {
  readonly alarms: Alarms;
  readonly metrics: Metrics;
  /** It measures what stands. */
  readonly tick: Tick;
  readonly fast: JobQueue;
  readonly slow: JobQueue;
  /** So many seconds late one job in a hundred may start. */
  readonly latenessSeconds: number;
}

const OVERDUE_MAX = Duration.minutes(5);
const PLAN_LAG_MAX = Duration.minutes(2);
const FIVE_MINUTES = Duration.minutes(5);
const OWED_FOR_HOURS = 2;

/** How jobs fare, as the functions measure it themselves. */
export function alarmsOnJobs(props: AlarmsOnJobsProps): void {
  whatStands(props);
  whatStartsLate(props);
}

function whatStands({ alarms, metrics, tick }: AlarmsOnJobsProps): void {
  alarms.whenAbove(tick, "Behind", PLAN_LAG_MAX.toMilliseconds(), {
    metric: metrics.ofTick("PlanLagMs", { statistic: "Maximum" }),
    periods: 3,
    description:
      "Ticks come to their end, but do not get through what is due: jobs are made late. Nothing is lost.",
  });
  alarms.whenAbove(tick, "JobsOverdue", OVERDUE_MAX.toMilliseconds(), {
    metric: metrics.ofTick("OldestDueMs", { statistic: "Maximum" }),
    periods: 3,
    description:
      "A job has been due for five minutes and nobody works on it: workers do not get through, or do not run.",
    article: "Jobs overdue",
  });
  alarms.whenAbove(tick, "JobsDead", 0, {
    // Of those that stand, since a tick may end jobs as well as a worker; only more of them are news.
    metric: new MathExpression({
      expression: "DIFF(dead)",
      usingMetrics: {
        dead: metrics.ofTick("DeadStanding", { statistic: "Maximum", period: FIVE_MINUTES }),
      },
      period: FIVE_MINUTES,
      label: "Jobs that have died",
    }),
    periods: 1,
    description: "Jobs have failed for the last time and will not be tried again until somebody asks for it.",
    article: "Jobs dead",
  });
  alarms.whenAbove(tick, "JobsOwed", 0, {
    metric: metrics.ofTick("Backlog", { statistic: "Minimum", period: FIVE_MINUTES }),
    periods: OWED_FOR_HOURS * 12,
    description:
      "Occurrences from before are let in slowly, and for two hours there was always one that waited: what is owed does not get less, or is very much.",
    article: "Jobs owed",
  });
}

function whatStartsLate({ alarms, metrics, fast, slow, latenessSeconds }: AlarmsOnJobsProps): void {
  for (const [name, queue] of [
    ["fast", fast],
    ["slow", slow],
  ] as const) {
    alarms.whenAbove(queue, "JobsLate", latenessSeconds * 1_000, {
      metric: metrics.ofWorker("LatenessMs", name, { statistic: "p99", period: FIVE_MINUTES }),
      periods: 3,
      description: `For a quarter of an hour, one job in a hundred of the ${name} queue started more than ${latenessSeconds} seconds late.`,
      article: "Jobs late",
    });
  }
}
