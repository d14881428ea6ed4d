import { expect, test } from "vitest";
import { idIn, synthesised } from "./synthesised.ts";

const onceAndSoon = { MaximumEventAgeInSeconds: 60, MaximumRetryAttempts: 0 };

test("EventBridge Scheduler may start the tick in the rule's place: each minute, once, and not a minute later", () => {
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

test("a rule starts it where nothing else is said, and nothing starts it twice", () => {
  const stack = synthesised();
  expect(stack.ofType("AWS::Scheduler::Schedule")).toEqual([]);
  expect(stack.ofType("AWS::Events::Rule")).toHaveLength(1);
});

test("nothing else may start it", () => {
  expect(() => synthesised({ tickBy: "cron" })).toThrow("carillon:tickBy: it takes rule or scheduler");
});
