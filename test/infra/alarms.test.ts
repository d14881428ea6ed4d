import { Match } from "aws-cdk-lib/assertions";
import { beforeAll, describe, expect, test } from "vitest";
import { metricUnits } from "../../lib/log/metrics.ts";
import { type Synthesised, synthesised } from "./synthesised.ts";
import { variants } from "./variants.ts";

let stack: Synthesised;
beforeAll(() => {
  stack = synthesised();
});

const ofTick = [{ Name: "function", Value: "tick" }];

test("alarms on jobs use the metric names that the functions write", () => {
  const { template } = stack;
  const fromTick = { Namespace: "Carillon", Dimensions: ofTick, Statistic: "Maximum", Period: 60 };
  template.hasResourceProperties("AWS::CloudWatch::Alarm", {
    ...fromTick,
    MetricName: "OldestDueMs",
    Threshold: 300_000,
  });
  template.hasResourceProperties("AWS::CloudWatch::Alarm", {
    ...fromTick,
    MetricName: "PlanLagMs",
    Threshold: 120_000,
  });
  for (const queue of ["fast", "slow"]) {
    template.hasResourceProperties("AWS::CloudWatch::Alarm", {
      MetricName: "LatenessMs",
      ExtendedStatistic: "p99",
      Dimensions: [
        { Name: "function", Value: "worker" },
        { Name: "queue", Value: queue },
      ],
      Threshold: 60_000,
    });
  }
  const own = stack
    .ofType("AWS::CloudWatch::Alarm")
    .filter(([id, { Properties }]) => Properties["Namespace"] === "Carillon" && !id.startsWith("TickMissing"))
    .map(([, { Properties }]) => String(Properties["MetricName"]));
  for (const name of own) expect(Object.keys(metricUnits)).toContain(name);
});

test("only an increase of dead jobs raises an alarm, not the existing ones", () => {
  stack.template.hasResourceProperties("AWS::CloudWatch::Alarm", {
    Threshold: 0,
    ComparisonOperator: "GreaterThanThreshold",
    Metrics: Match.arrayWith([
      Match.objectLike({ Expression: "DIFF(dead)" }),
      Match.objectLike({
        Id: "dead",
        ReturnData: false,
        MetricStat: Match.objectLike({
          Metric: { Namespace: "Carillon", MetricName: "DeadStanding", Dimensions: ofTick },
        }),
      }),
    ]),
  });
});

test("rows in quarantine raise an alarm once a part of Carillon has failed on them for a quarter of an hour", () => {
  stack.template.hasResourceProperties("AWS::CloudWatch::Alarm", {
    Namespace: "Carillon",
    MetricName: "Quarantined",
    Dimensions: ofTick,
    Statistic: "Minimum",
    Period: 300,
    EvaluationPeriods: 3,
    Threshold: 0,
    ComparisonOperator: "GreaterThanThreshold",
  });
});

test("lost pulses raise an alarm and passed-over pulses another, by the tick's sums over five minutes", () => {
  for (const MetricName of ["PulsesLost", "PulseSecondsPassed"]) {
    stack.template.hasResourceProperties("AWS::CloudWatch::Alarm", {
      Namespace: "Carillon",
      MetricName,
      Dimensions: ofTick,
      Statistic: "Sum",
      Period: 300,
      EvaluationPeriods: 1,
      Threshold: 0,
      ComparisonOperator: "GreaterThanThreshold",
      TreatMissingData: "notBreaching",
    });
  }
});

test("the database raises an alarm before a resource runs out", () => {
  const own = synthesised({ databaseStorageGiB: 100, databaseMaxConnections: 250 });
  const thresholds = Object.fromEntries(
    own
      .ofType("AWS::CloudWatch::Alarm")
      .filter(([, { Properties }]) => Properties["Namespace"] === "AWS/RDS")
      .map(([, { Properties }]) => [Properties["MetricName"], Properties]),
  );
  expect(thresholds).toMatchObject({
    CPUUtilization: { Threshold: 80, ComparisonOperator: "GreaterThanThreshold" },
    DatabaseConnections: { Threshold: 200, ComparisonOperator: "GreaterThanThreshold" },
    FreeStorageSpace: { Threshold: 10 * 1_024 ** 3, ComparisonOperator: "LessThanThreshold" },
    CPUSurplusCreditsCharged: {
      Threshold: 0,
      EvaluationPeriods: 12,
      ComparisonOperator: "GreaterThanThreshold",
    },
    MaximumUsedTransactionIDs: { Threshold: 500_000_000, ComparisonOperator: "GreaterThanThreshold" },
  });
  for (const properties of Object.values(thresholds)) {
    expect(properties).toMatchObject({
      Dimensions: [{ Name: "DBInstanceIdentifier", Value: { Ref: expect.stringMatching(/^Database/) } }],
    });
  }
});

describe("the memory of the database", () => {
  const mebibyte = 1_024 ** 2;
  const onMemory = (settings: Record<string, unknown>) =>
    Object.fromEntries(
      synthesised(settings)
        .ofType("AWS::CloudWatch::Alarm")
        .filter(([, { Properties }]) => /^(FreeableMemory|SwapUsage)$/.test(String(Properties["MetricName"])))
        .map(([, { Properties }]) => [Properties["MetricName"], Properties]),
    );

  test.each([
    [{}, 102, 256],
    [{ databaseClass: "t4g.medium" }, 204, 512],
    [{ databaseClass: "r7g.xlarge" }, 1_024, 1_024],
  ])(
    "little free memory and much swap raise an alarm each, by the memory of the class: %j",
    (settings, free, swap) => {
      expect(onMemory(settings)).toMatchObject({
        FreeableMemory: { Threshold: free * mebibyte, ComparisonOperator: "LessThanThreshold" },
        SwapUsage: { Threshold: swap * mebibyte, ComparisonOperator: "GreaterThanThreshold" },
      });
    },
  );

  test("alarms on memory are quiet while a new database reports none, and for a quarter of an hour", () => {
    const each = {
      TreatMissingData: "notBreaching",
      EvaluationPeriods: 3,
      Period: 300,
      Statistic: "Average",
    };
    expect(onMemory({})).toMatchObject({ FreeableMemory: each, SwapUsage: each });
  });

  test("the memory of a cluster and of an unknown class has no alarm", () => {
    expect(onMemory({ database: "aurora" })).toEqual({});
    expect(onMemory({ databaseClass: "x2iedn.xlarge", databaseMaxConnections: 900 })).toEqual({});
  });
});

test("messages in flight raise an alarm before SQS delivers no more, and throttled functions raise another", () => {
  const { template } = stack;
  const inFlight = stack
    .ofType("AWS::CloudWatch::Alarm")
    .filter(([, { Properties }]) => Properties["MetricName"] === "ApproximateNumberOfMessagesNotVisible");
  expect(inFlight.map(([id]) => id.replace(/Messages.*/, "")).toSorted()).toEqual(["Fast", "Ingest", "Slow"]);
  for (const [, { Properties }] of inFlight) expect(Properties["Threshold"]).toBe(96_000);
  template.hasResourceProperties("AWS::CloudWatch::Alarm", {
    Metrics: Match.arrayWith([
      Match.objectLike({ Expression: "tick + ingest + fastWorker + slowWorker + api + webhooks" }),
      Match.objectLike({
        Id: "slowWorker",
        MetricStat: Match.objectLike({ Metric: Match.objectLike({ MetricName: "Throttles" }) }),
      }),
    ]),
    EvaluationPeriods: 5,
    DatapointsToAlarm: 3,
  });
});

test("locks that another program holds raise an alarm in their second minute, also in a database that is not made here", () => {
  const { template } = synthesised(variants["external database"]);
  for (const each of [stack.template, template])
    each.hasResourceProperties("AWS::CloudWatch::Alarm", {
      Namespace: "Carillon",
      MetricName: "ForeignLocks",
      Dimensions: ofTick,
      Statistic: "Maximum",
      Period: 60,
      EvaluationPeriods: 2,
      Threshold: 0,
      ComparisonOperator: "GreaterThanThreshold",
      TreatMissingData: "notBreaching",
    });
});

test("a move that has kept schedules for long raises an alarm in the first minute that a tick reports it", () => {
  stack.template.hasResourceProperties("AWS::CloudWatch::Alarm", {
    Namespace: "Carillon",
    MetricName: "UnfinishedMoves",
    Dimensions: ofTick,
    Statistic: "Maximum",
    Period: 60,
    EvaluationPeriods: 1,
    Threshold: 0,
    ComparisonOperator: "GreaterThanThreshold",
    TreatMissingData: "notBreaching",
  });
});

test("requests answered with 5xx raise an alarm", () => {
  stack.template.hasResourceProperties("AWS::CloudWatch::Alarm", {
    Namespace: "AWS/ApiGateway",
    MetricName: "5xx",
    EvaluationPeriods: 5,
    DatapointsToAlarm: 3,
  });
});

test("two deployments side by side keep their metrics apart: functions write to the namespace that their alarms read", () => {
  const other = synthesised({ metricsNamespace: "Carillon/staging", alarmLatenessSeconds: "5" });
  const told = other
    .ofType("AWS::Lambda::Function")
    .filter(([, { Properties }]) =>
      JSON.stringify(Properties["Environment"] ?? {}).includes(
        '"CARILLON_METRICS_NAMESPACE":"Carillon/staging"',
      ),
    )
    .map(([id]) => id.replace(/Function.*/, ""));
  expect(told.toSorted()).toEqual(["FastWorker", "Ingest", "SlowWorker", "Tick"]);
  other.template.hasResourceProperties("AWS::CloudWatch::Alarm", {
    Namespace: "Carillon/staging",
    MetricName: "LatenessMs",
    Threshold: 5_000,
  });
});
