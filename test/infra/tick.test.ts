import { Match } from "aws-cdk-lib/assertions";
import { expect, test } from "vitest";
import { z } from "zod";
import { shareOf } from "../../lib/tick/share.ts";
import { idIn, type Resource, synthesised } from "./synthesised.ts";

const onceAndSoon = { MaximumEventAgeInSeconds: 60, MaximumRetryAttempts: 0 };

test("EventBridge Scheduler may start the tick instead of the rule: once each minute, without retries after a minute", () => {
  const stack = synthesised({ tickBy: "scheduler" });
  expect(stack.ofType("AWS::Events::Rule")).toEqual([]);
  const [schedule, ...others] = stack.ofType("AWS::Scheduler::Schedule").map(([, each]) => each.Properties);
  expect(others).toEqual([]);
  expect(schedule).toMatchObject({
    ScheduleExpression: "cron(* * * * ? *)",
    FlexibleTimeWindow: { Mode: "OFF" },
    State: "ENABLED",
    Target: { RetryPolicy: onceAndSoon },
  });
  expect(idIn(Object(schedule?.["Target"]).Arn)).toMatch(/^TickFunction/);
  stack.template.hasResourceProperties("AWS::Lambda::EventInvokeConfig", onceAndSoon);
});

test("by default a rule starts the tick, and only one service starts it", () => {
  const stack = synthesised();
  expect(stack.ofType("AWS::Scheduler::Schedule")).toEqual([]);
  expect(stack.ofType("AWS::Events::Rule")).toHaveLength(1);
});

test("the tick keeps jobs for the configured number of days", () => {
  const stack = synthesised({ jobRetentionDays: "90" });
  stack.template.hasResourceProperties("AWS::Lambda::Function", {
    Environment: { Variables: Match.objectLike({ RETENTION_DAYS: "90" }) },
  });
});

test("no other service may start the tick", () => {
  expect(() => synthesised({ tickBy: "cron" })).toThrow("carillon:tickBy: it takes rule or scheduler");
});

const ruleTargets = z.array(
  z.object({
    Arn: z.unknown(),
    RetryPolicy: z.unknown(),
    InputTransformer: z.object({
      InputPathsMap: z.record(z.string(), z.string()),
      InputTemplate: z.string(),
    }),
  }),
);
const minute = "2026-03-02T10:07:00Z";

test("several ticks a minute learn their share and their minute, from as many rules as EventBridge's limit requires", () => {
  const stack = synthesised({ tickShards: 16, databaseClass: "m7g.large" });
  const rules = stack.ofType("AWS::Events::Rule");
  const targets = rules.map(([, { Properties }]) => ruleTargets.parse(Properties["Targets"]));
  for (const some of targets) expect(some.length).toBeLessThanOrEqual(5);
  const shares = targets.flat().map(({ Arn, RetryPolicy, InputTransformer }) => {
    expect(idIn(Arn)).toMatch(/^TickFunction/);
    expect(RetryPolicy).toEqual(onceAndSoon);
    expect(Object.values(InputTransformer.InputPathsMap)).toEqual(["$.time"]);
    const [name = ""] = Object.keys(InputTransformer.InputPathsMap);
    // Replaced as EventBridge does: a placeholder that is a whole value gets quotation marks.
    const input = InputTransformer.InputTemplate.replace(`<${name}>`, JSON.stringify(minute));
    return shareOf(JSON.parse(input)).share;
  });
  expect(shares.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 16 }, (_, share) => share));
  const admitted = stack
    .ofType("AWS::Lambda::Permission")
    .filter(([, { Properties }]) => Properties["Principal"] === "events.amazonaws.com")
    .map(([, { Properties }]) => idIn(Properties["SourceArn"]));
  expect(admitted.toSorted()).toEqual(rules.map(([id]) => id).toSorted());
});

test("EventBridge Scheduler starts several ticks too, and may invoke this one function only", () => {
  const stack = synthesised({ tickShards: 3, tickBy: "scheduler", databaseClass: "t4g.medium" });
  const schedules = stack
    .ofType("AWS::Scheduler::Schedule")
    .map(([, { Properties }]) => Object(Properties["Target"]));
  const shares = schedules.map(({ Input, RetryPolicy }) => {
    expect(RetryPolicy).toEqual(onceAndSoon);
    return shareOf(JSON.parse(String(Input).replace("<aws.scheduler.scheduled-time>", minute))).share;
  });
  expect(shares.toSorted()).toEqual([0, 1, 2]);
  const roles = new Set(schedules.map(({ RoleArn }) => idIn(RoleArn)));
  expect(roles.size).toBe(1);
  const granted = stack
    .ofType("AWS::IAM::Policy")
    .filter(([, policy]) =>
      [...roles].some((role) => JSON.stringify(policy.Properties["Roles"]).includes(role)),
    )
    .flatMap(([, policy]) => statementsOf(policy));
  for (const { Action, Resource } of granted) {
    expect(Action).toBe("lambda:InvokeFunction");
    expect(JSON.stringify(Resource)).toContain("TickFunction");
  }
  expect(granted.length).toBeGreaterThan(0);
});

test("more ticks than shards are refused, and more than the database has connections for", () => {
  expect(() => synthesised({ tickShards: 17 })).toThrow(
    "carillon:tickShards: it takes a whole number from 1 to 16",
  );
  expect(() => synthesised({ tickShards: 16 })).toThrow(/tickShards \(78 MiB each\)/);
});

const document = z.object({
  Statement: z.array(z.object({ Action: z.unknown(), Resource: z.unknown() })),
});

function statementsOf({ Properties }: Resource) {
  return document.parse(Properties["PolicyDocument"]).Statement;
}
