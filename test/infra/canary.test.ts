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
  test("a missing canary raises an alarm for each queue, where SQS and the handler count arrivals", () => {
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

  test("the tick puts the canary, and only the fast worker may send to the canary's queue", () => {
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
    // Nothing reads from this queue, and messages expire after they are counted.
    expect(JSON.stringify(stack.ofType("AWS::Lambda::EventSourceMapping"))).not.toContain(queue);
    expect(stack.resources[queue]?.Properties["MessageRetentionPeriod"]).toBe(60);
  });

  test("the canary can be switched off", () => {
    const without = synthesised({ canaryMinutes: 0 });
    expect(JSON.stringify(without.template.toJSON())).not.toMatch(/canary/i);
    for (const [id, { Properties }] of without.ofType("AWS::Lambda::Function"))
      expect(Properties["TracingConfig"], id).toBeUndefined();
  });
});

const rolesOf = ({ Properties }: Resource) => z.array(z.unknown()).parse(Properties["Roles"]).map(idIn);

describe("tracing", () => {
  test("tracing is on for every function of Carillon, each of which may write traces and has no other right in X-Ray", () => {
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
    // Lambda refuses to make a function with tracing before its role has these rights.
    for (const [id, { Properties, DependsOn }] of own) {
      const role = idIn(Properties["Role"]);
      const [policy] = writers.find(([, each]) => rolesOf(each).includes(role)) ?? [];
      expect(DependsOn, id).toContain(policy);
    }
    const roles = writers.flatMap(([, policy]) => rolesOf(policy));
    expect(new Set(roles).size).toBe(own.length);
  });

  test("tracing is on for the stage of a REST API", () => {
    const rest = synthesised({ tracing: true, apiKind: "rest", dashboard: false });
    const stages = rest.ofType("AWS::ApiGateway::Stage").map(([, { Properties }]) => Properties);
    expect(stages).toMatchObject([{ TracingEnabled: true }]);
  });
});
