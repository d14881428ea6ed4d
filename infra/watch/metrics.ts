import { Duration } from "aws-cdk-lib";
import { Metric } from "aws-cdk-lib/aws-cloudwatch";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import type { MetricDimensions, MetricName } from "../../lib/log/metrics.ts";

export interface OwnMetricOptions {
  /** As CloudWatch spells it: `Sum`, `Maximum`, `p99`. */
  readonly statistic: string;
  /** Default: one minute. */
  readonly period?: Duration;
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

  private metric(
    metricName: MetricName,
    dimensions: MetricDimensions & { function: string },
    { statistic, period = Duration.minutes(1) }: OwnMetricOptions,
  ): Metric {
    const dimensionsMap = { ...dimensions };
    return new Metric({ namespace: this.namespace, metricName, dimensionsMap, statistic, period });
  }
}
