import { beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { idIn, type Resource, type Synthesised, synthesised } from "./synthesised.ts";

let stack: Synthesised;
beforeAll(() => {
  stack = synthesised({ canaryMinutes: 7, metricsNamespace: "Carillon/staging", tracing: true });
});

const document = z.object({
  Statement: z.array(z.object({ Action: z.unknown(), Resource: z.unknown() })),
});
const statementsOf = ({ Properties }: Resource) => document.parse(Properties["PolicyDocument"]).Statement;
const variablesOf = (of: Synthesised, path: string) => {
  const found = of.ofType("AWS::Lambda::Function").find(([id]) => id.startsWith(path));
  return Object(found?.[1].Properties["Environment"]).Variables ?? {};
};

describe("the canary", () => {
  test("raises an alarm for each queue when it does not arrive, where SQS and the handler count it", () => {
    const alarms = stack
      .ofType("AWS::CloudWatch::Alarm")
      .filter(([id]) => id.startsWith("Canary"))
      .map(([, { Properties }]) => Properties);
    expect(alarms).toHaveLength(2);
    for (const alarm of alarms) {
      expect(alarm).toMatchObject({
        ComparisonOperator: "LessThanThreshold",
        Threshold: 1,
        Period: 7 * 60,
        EvaluationPeriods: 2,
        TreatMissingData: "breaching",
        AlarmDescription: expect.stringMatching(/ for 14 minutes: .*#canary-missing$/),
      });
    }
    expect(alarms).toContainEqual(
      expect.objectContaining({
        Namespace: "Carillon/staging",
        MetricName: "CanaryMs",
        Statistic: "SampleCount",
        Dimensions: [
          { Name: "function", Value: "worker" },
          { Name: "queue", Value: "slow" },
        ],
      }),
    );
    const [fast] = alarms.filter(({ Namespace }) => Namespace === "AWS/SQS");
    expect(fast).toMatchObject({ MetricName: "NumberOfMessagesSent", Statistic: "Sum" });
  });

  test("is put by the tick, which knows its queue, and delivered by the fast worker, who alone may send there", () => {
    const [queue = ""] = stack
      .ofType("AWS::SQS::Queue")
      .map(([id]) => id)
      .filter((id) => id.startsWith("Canary"));
    const told = variablesOf(stack, "TickFunction");
    expect([idIn(told["CANARY_QUEUE_URL"]), told["CANARY_MINUTES"]]).toEqual([queue, "7"]);
    const senders = stack
      .ofType("AWS::IAM::Policy")
      .filter(([, policy]) => JSON.stringify(statementsOf(policy)).includes(queue))
      .map(([id]) => id);
    expect(senders).toEqual([expect.stringMatching(/^FastWorkerFunction/)]);
    // Nobody reads there, and what has been counted goes by itself.
    expect(JSON.stringify(stack.ofType("AWS::Lambda::EventSourceMapping"))).not.toContain(queue);
    expect(stack.resources[queue]?.Properties["MessageRetentionPeriod"]).toBe(60);
  });

  test("is not there where none is wanted", () => {
    const without = synthesised({ canaryMinutes: 0 });
    expect(JSON.stringify(without.template.toJSON())).not.toMatch(/canary/i);
    for (const [id, { Properties }] of without.ofType("AWS::Lambda::Function"))
      expect(Properties["TracingConfig"], id).toBeUndefined();
  });
});

describe("tracing", () => {
  test("is on for every function of ours, each of which may write traces and nothing more of X-Ray", () => {
    const own = stack.ofType("AWS::Lambda::Function").filter(([id]) => !id.startsWith("MigrationProvider"));
    expect(own.length).toBeGreaterThan(6);
    for (const [id, { Properties }] of own)
      expect(Properties["TracingConfig"], id).toEqual({ Mode: "Active" });
    const writers = stack
      .ofType("AWS::IAM::Policy")
      .filter(([, policy]) => JSON.stringify(statementsOf(policy)).includes("xray:"));
    expect(writers).toHaveLength(own.length);
    for (const [, policy] of writers) {
      expect(statementsOf(policy)).toMatchObject([
        { Action: ["xray:PutTelemetryRecords", "xray:PutTraceSegments"], Resource: "*" },
      ]);
    }
    const roles = writers.flatMap(([, { Properties }]) =>
      z.array(z.unknown()).parse(Properties["Roles"]).map(idIn),
    );
    expect(new Set(roles).size).toBe(own.length);
  });

  test("is on for the stage of a REST API", () => {
    const rest = synthesised({ tracing: true, apiKind: "rest", dashboard: false });
    const stages = rest.ofType("AWS::ApiGateway::Stage").map(([, { Properties }]) => Properties);
    expect(stages).toMatchObject([{ TracingEnabled: true }]);
  });
});
