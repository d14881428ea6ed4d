import { App, Duration, Stack } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import type { Metric, MetricOptions } from "aws-cdk-lib/aws-cloudwatch";
import { expect, test } from "vitest";
import { Carillon } from "../../infra/carillon.ts";

type Of = (carillon: Carillon, options?: MetricOptions) => Metric;

const metrics: readonly (readonly [name: string, of: Of, alarm: string, statistic: string])[] = [
  ["metricTicks", (of, options) => of.metricTicks(options), "TickMissing", "Sum"],
  ["metricPlanLag", (of, options) => of.metricPlanLag(options), "TickBehind", "Maximum"],
  ["metricOverdue", (of, options) => of.metricOverdue(options), "TickJobsOverdue", "Maximum"],
  ["metricLateness", (of, options) => of.metricLateness("slow", options), "SlowJobsLate", "p99"],
  ["metricLateness", (of, options) => of.metricLateness("fast", options), "FastJobsLate", "p99"],
  ["metricDeadJobs", (of, options) => of.metricDeadJobs(options), "TickJobsDead", "Maximum"],
  ["metricOwedJobs", (of, options) => of.metricOwedJobs(options), "TickJobsOwed", "Maximum"],
  [
    "metricQuarantinedRows",
    (of, options) => of.metricQuarantinedRows(options),
    "TickRowsSetAside",
    "Maximum",
  ],
];

function setup() {
  const stack = new Stack(new App({ context: { "aws:cdk:bundling-stacks": [] } }), "Theirs");
  return { stack, carillon: new Carillon(stack, "Carillon", { metricsNamespace: "Carillon/Orders" }) };
}

/** The metric that an alarm watches, also as a part of an expression. */
function watchedBy(stack: Stack, alarm: string): object {
  const [found] = Object.entries(Template.fromStack(stack).findResources("AWS::CloudWatch::Alarm"))
    .filter(([id]) => new RegExp(`^Carillon${alarm}[0-9A-F]{8}$`).test(id))
    .map(([, { Properties }]) => Properties);
  if (found === undefined) throw new Error(`There is no alarm ${alarm}.`);
  const stats: { MetricStat?: { Metric: object } }[] = found["Metrics"] ?? [];
  return stats.find(({ MetricStat }) => MetricStat)?.MetricStat?.Metric ?? found;
}

test.each(metrics)(
  "The metric of %s is the one that an alarm of Carillon watches: %#",
  (_name, of, alarm, statistic) => {
    const { stack, carillon } = setup();
    const metric = of(carillon);
    const byName = Object.entries(metric.dimensions ?? {}).map(([Name, Value]) => ({ Name, Value }));
    expect(watchedBy(stack, alarm)).toMatchObject({
      Namespace: metric.namespace,
      MetricName: metric.metricName,
      ...(byName.length === 0 ? {} : { Dimensions: byName }),
    });
    expect(metric).toMatchObject({ namespace: "Carillon/Orders", statistic, period: Duration.minutes(1) });
  },
);

test.each(metrics)("The metric of %s takes the options of CloudWatch's metrics: %#", (_name, of) => {
  const options = { statistic: "Minimum", period: Duration.minutes(5), label: "ours", color: "#aa0000" };
  expect(of(setup().carillon, options)).toMatchObject(options);
});

test("An alarm of an app on one of these metrics is made beside Carillon's own", () => {
  const { stack, carillon } = setup();
  carillon.metricDeadJobs({ period: Duration.hours(1) }).createAlarm(stack, "ManyDead", {
    threshold: 100,
    evaluationPeriods: 1,
  });
  Template.fromStack(stack).hasResourceProperties("AWS::CloudWatch::Alarm", {
    Threshold: 100,
    MetricName: "DeadStanding",
    Namespace: "Carillon/Orders",
    Period: 3_600,
  });
});
