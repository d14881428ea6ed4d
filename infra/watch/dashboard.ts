import { Duration } from "aws-cdk-lib";
import {
  AlarmStatusWidget,
  Dashboard as CloudWatchDashboard,
  GraphWidget,
  type IMetric,
  type IWidget,
  type MetricOptions,
} from "aws-cdk-lib/aws-cloudwatch";
import { Construct } from "constructs";
import type { MetricName } from "../../lib/log/metrics.ts";
import type { Database } from "../database/database.ts";
import type { Tick } from "../functions/tick.ts";
import type { Worker } from "../functions/worker.ts";
import type { IngestQueue } from "../queues/ingest-queue.ts";
import type { JobQueue } from "../queues/job-queue.ts";
import type { Alarms } from "./alarms.ts";
import type { Metrics } from "./metrics.ts";

export interface DashboardProps {
  readonly alarms: Alarms;
  readonly metrics: Metrics;
  readonly fast: JobQueue;
  readonly slow: JobQueue;
  readonly ingest: IngestQueue;
  readonly tick: Tick;
  readonly fastWorker: Worker;
  readonly slowWorker: Worker;
  /** Whether the deployment has a canary. */
  readonly canary: boolean;
  readonly database: Database;
  /** Requests answered with 5xx. */
  readonly serverErrors: IMetric;
}

const GRAPH_HEIGHT = 6;
const queueNames = ["fast", "slow"] as const;

/** All metrics on one page, in the order of a job's path; those with an alarm are at the top. */
export class Dashboard extends Construct {
  private readonly props: DashboardProps;

  constructor(scope: Construct, id: string, props: DashboardProps) {
    super(scope, id);
    this.props = props;
    // The dashboard has no explicit name: a name that is taken would make the second deployment of
    // an account fail.
    new CloudWatchDashboard(this, "Page", {
      defaultInterval: Duration.hours(3),
      widgets: [
        [new AlarmStatusWidget({ title: "Alarms", width: 24, height: 4, alarms: [...props.alarms.raised] })],
        this.plan(),
        this.work(),
        this.pulses(),
        this.messages(),
        this.bounds(),
        this.storage(),
        this.memory(),
      ],
    });
  }

  private plan(): IWidget[] {
    return [
      graph("Jobs made and passed over", this.sumsOfTick("Fired", "Missed", "Skipped", "Cancelled")),
      graph(
        "How far the plan and the oldest job are behind (ms)",
        this.highestOfTick("PlanLagMs", "OldestDueMs"),
      ),
      graph("How long ticks take (ms)", this.highestOfTick("TickMs")),
    ];
  }

  private work(): IWidget[] {
    const { metrics } = this.props;
    const sums = (name: MetricName) =>
      queueNames.map((queue) =>
        metrics.ofWorker(name, queue, { statistic: "Sum" }).with({ label: `${name}, ${queue}` }),
      );
    const lateness = queueNames.flatMap((queue) =>
      ["p50", "p99"].map((statistic) =>
        metrics.lateness(queue, { statistic, label: `${statistic}, ${queue}` }),
      ),
    );
    return [
      graph("Jobs by how they went", [...sums("Succeeded"), ...sums("Failed"), ...sums("Dead")]),
      graph("How late jobs start (ms)", lateness),
      graph(
        "Jobs that wait",
        this.highestOfTick("DueJobs", "Backlog", "DeadStanding", "Quarantined", "OpenParcels"),
      ),
    ];
  }

  /** The fast queue's worker sends every pulse. The tick adds up the lost ones. */
  private pulses(): IWidget[] {
    const { metrics } = this.props;
    const ofWorker = (name: MetricName, statistic: string) =>
      metrics.ofWorker(name, "fast", { statistic }).with({ label: `${name}, ${statistic}` });
    return [
      graph("Pulses by how they went", [ofWorker("Pulses", "Sum"), ofWorker("PulsesFailed", "Sum")]),
      graph("How late pulses are taken (ms)", [
        ofWorker("PulseLatenessMs", "p50"),
        ofWorker("PulseLatenessMs", "p99"),
      ]),
      graph("Pulses given up, and seconds passed over", this.sumsOfTick("PulsesLost", "PulseSecondsPassed")),
    ];
  }

  private messages(): IWidget[] {
    const { fast, slow, ingest, serverErrors } = this.props;
    const named = { fast, slow, commands: ingest };
    const aMinute = (label: string): MetricOptions => ({ label, period: Duration.minutes(1) });
    const each = Object.entries(named);
    return [
      graph(
        "Messages that wait",
        each.map(([label, { queue }]) => queue.metricApproximateNumberOfMessagesVisible(aMinute(label))),
      ),
      graph(
        "Messages set aside",
        each.map(([label, { deadLetters }]) =>
          deadLetters.metricApproximateNumberOfMessagesVisible(aMinute(label)),
        ),
      ),
      graph("Requests answered 5xx", [serverErrors]),
    ];
  }

  /** Limits of AWS, and the canary. */
  private bounds(): IWidget[] {
    const { metrics, fast, slow, ingest, tick, fastWorker, slowWorker, canary } = this.props;
    const named = { fast, slow, commands: ingest };
    const working = { tick: tick.fn, fast: fastWorker.fn, slow: slowWorker.fn, commands: ingest.fn };
    const aMinute = (label: string): MetricOptions => ({ label, period: Duration.minutes(1) });
    const inFlight = Object.entries(named).map(([label, { queue }]) =>
      queue.metricApproximateNumberOfMessagesNotVisible(aMinute(label)),
    );
    const throttles = Object.entries(working).map(([label, fn]) => fn.metricThrottles(aMinute(label)));
    const widgets = [graph("Messages in flight", inFlight), graph("Throttles of functions", throttles)];
    if (!canary) return widgets;
    const canaryMs = metrics.ofWorker("CanaryMs", "slow", { statistic: "Maximum" });
    return [...widgets, graph("How late the canary arrives (ms)", [canaryMs])];
  }

  private storage(): IWidget[] {
    const { metrics } = this.props.database;
    if (metrics === undefined) return [];
    return [
      graph("Database: processors (%)", this.ofDatabase("CPUUtilization", "Average")),
      graph("Database: connections", this.ofDatabase("DatabaseConnections", "Maximum")),
      metrics.kind === "serverless"
        ? graph("Database: capacity units", this.ofDatabase("ServerlessDatabaseCapacity", "Maximum"))
        : graph("Database: free storage (bytes)", this.ofDatabase("FreeStorageSpace", "Minimum")),
    ];
  }

  /** Only an instance has a fixed memory and a class with credits. */
  private memory(): IWidget[] {
    if (this.props.database.metrics?.kind !== "instance") return [];
    return [
      graph("Database: free memory (bytes)", this.ofDatabase("FreeableMemory", "Average")),
      graph("Database: swap (bytes)", this.ofDatabase("SwapUsage", "Average")),
      graph("Database: credits charged", this.ofDatabase("CPUSurplusCreditsCharged", "Maximum")),
    ];
  }

  private ofDatabase(name: string, statistic: string): IMetric[] {
    const metric = this.props.database.metrics?.of(name, { statistic, period: Duration.minutes(5) });
    return metric === undefined ? [] : [metric];
  }

  private sumsOfTick(...names: MetricName[]): IMetric[] {
    return names.map((name) => this.props.metrics.ofTick(name, { statistic: "Sum" }));
  }

  private highestOfTick(...names: MetricName[]): IMetric[] {
    return names.map((name) => this.props.metrics.ofTick(name, { statistic: "Maximum" }));
  }
}

function graph(title: string, left: IMetric[]): GraphWidget {
  return new GraphWidget({ title, left, width: 8, height: GRAPH_HEIGHT });
}
