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

/** What the functions write into their logs about themselves, as CloudWatch keeps it. */
export class Metrics {
  readonly namespace: string;

  constructor(namespace: string) {
    this.namespace = namespace;
  }

  /** Tells a function where its metrics stand: two deployments side by side must not be taken for one. */
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
