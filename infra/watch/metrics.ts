import { Duration } from "aws-cdk-lib";
import { Metric, type MetricOptions } from "aws-cdk-lib/aws-cloudwatch";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import type { MetricDimensions, MetricName } from "../../lib/log/metrics.ts";

export interface OwnMetricOptions extends MetricOptions {
  /** As CloudWatch spells it: `Sum`, `Maximum`, `p99`. */
  readonly statistic: string;
}

/** The metrics that the functions write to their logs, as CloudWatch extracts them. */
export class Metrics {
  readonly namespace: string;

  constructor(namespace: string) {
    this.namespace = namespace;
  }

  /** Sets a function's metrics namespace, which keeps two deployments in one account apart. */
  tell(fn: LambdaFunction): void {
    fn.addEnvironment("CARILLON_METRICS_NAMESPACE", this.namespace);
  }

  ofTick(metricName: MetricName, options: OwnMetricOptions): Metric {
    return this.metric(metricName, { function: "tick" }, options);
  }

  ofWorker(metricName: MetricName, queue: "fast" | "slow", options: OwnMetricOptions): Metric {
    return this.metric(metricName, { function: "worker", queue }, options);
  }

  planLag(options?: MetricOptions): Metric {
    return this.ofTick("PlanLagMs", { statistic: "Maximum", ...options });
  }

  overdue(options?: MetricOptions): Metric {
    return this.ofTick("OldestDueMs", { statistic: "Maximum", ...options });
  }

  deadJobs(options?: MetricOptions): Metric {
    return this.ofTick("DeadStanding", { statistic: "Maximum", ...options });
  }

  owedJobs(options?: MetricOptions): Metric {
    return this.ofTick("Backlog", { statistic: "Maximum", ...options });
  }

  quarantinedRows(options?: MetricOptions): Metric {
    return this.ofTick("Quarantined", { statistic: "Maximum", ...options });
  }

  /** How much of the fullest quota of any prefix is used, in percent; one value in ten minutes. */
  quotaUsed(options?: MetricOptions): Metric {
    return this.ofTick("QuotaUsedPercent", { statistic: "Maximum", ...options });
  }

  lateness(queue: "fast" | "slow", options?: MetricOptions): Metric {
    return this.ofWorker("LatenessMs", queue, { statistic: "p99", ...options });
  }

  private metric(
    metricName: MetricName,
    dimensions: MetricDimensions & { function: string },
    options: OwnMetricOptions,
  ): Metric {
    const dimensionsMap = { ...dimensions };
    const period = Duration.minutes(1);
    return new Metric({ period, ...options, namespace: this.namespace, metricName, dimensionsMap });
  }
}
