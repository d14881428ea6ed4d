import { describe, expect, test } from "vitest";
import { readEventBridge } from "../../lib/cli/formats/eventbridge.ts";
import { jsonValues } from "../../lib/cli/formats/json-values.ts";

const region = "eu-central-1:123456789012";
const lambda = `arn:aws:lambda:${region}:function:close`;

/** A schedule as `aws scheduler get-schedule` prints it. */
function schedule(parts: object = {}, target: object = {}) {
  return {
    ActionAfterCompletion: "NONE",
    Arn: `arn:aws:scheduler:${region}:schedule/default/close`,
    CreationDate: "2024-05-01T12:00:00.123000+00:00",
    FlexibleTimeWindow: { Mode: "OFF" },
    GroupName: "default",
    LastModificationDate: "2024-05-01T12:00:00.123000+00:00",
    Name: "close",
    ScheduleExpression: "cron(0 9 ? * MON-FRI *)",
    ScheduleExpressionTimezone: "UTC",
    State: "ENABLED",
    Target: {
      Arn: lambda,
      Input: '{"n":1}',
      RetryPolicy: { MaximumEventAgeInSeconds: 86_400, MaximumRetryAttempts: 185 },
      RoleArn: `arn:aws:iam::123456789012:role/x`,
      ...target,
    },
    ...parts,
  };
}

function read(value: unknown, target?: { queue: string }) {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return readEventBridge([{ name: "aws.json", text, isStdin: false }], { target });
}

function one(parts: object = {}, target: object = {}) {
  const [found] = read(schedule(parts, target)).found;
  if (found === undefined) throw new Error("Nothing was read.");
  return { ...found, told: found.differences.join("\n") };
}

describe("a schedule of EventBridge", () => {
  test("A schedule of EventBridge keeps its expression, input and name", () => {
    expect(one()).toMatchObject({
      key: "close",
      body: {
        when: "cron(0 9 ? * MON-FRI *)",
        timezone: "UTC",
        target: { lambda },
        payload: { n: 1 },
      },
      faults: [],
    });
    expect(Object.keys(one().body)).toEqual(["when", "timezone", "target", "payload"]);
  });

  test("A schedule of EventBridge keeps its group, window, end and state", () => {
    const { key, body, told } = one({
      GroupName: "billing",
      State: "DISABLED",
      Description: "Closes the day",
      ActionAfterCompletion: "DELETE",
      FlexibleTimeWindow: { Mode: "FLEXIBLE", MaximumWindowInMinutes: 15 },
      StartDate: "2026-01-01T01:00:00+01:00",
      EndDate: 1_893_456_000,
      KmsKeyArn: "arn:aws:kms:x",
    });
    expect(key).toBe("billing:close");
    expect(body).toMatchObject({
      group: "billing",
      paused: true,
      description: "Closes the day",
      deleteOnEnd: true,
      spread: "15m",
      startsAt: "2026-01-01T00:00:00.000Z",
      endsAt: "2030-01-01T00:00:00.000Z",
    });
    for (const word of ["FlexibleTimeWindow", "KmsKeyArn"]) expect(told).toContain(word);
  });

  test("A schedule of EventBridge behaves at clock changes as on AWS", () => {
    expect(one().body).not.toHaveProperty("dst");
    const { body, told } = one({ ScheduleExpressionTimezone: "Europe/Berlin" });
    expect(body["dst"]).toEqual({ gap: "skip", overlap: "first" });
    expect(told).toContain("clock changes");
  });

  test("Numeric days of the week are noted, because AWS counts from Sunday = 1", () => {
    expect(one({ ScheduleExpression: "cron(0 9 ? * 2-6 *)" }).told).toContain("1 = Sunday");
    expect(one().told).not.toContain("1 = Sunday");
  });

  test("A rate of EventBridge keeps its phase", () => {
    const rate = { ScheduleExpression: "rate(5 minutes)" };
    expect(one(rate)).toMatchObject({ body: { startsAt: "2024-05-01T12:00:00.123Z" } });
    expect(one(rate).told).toContain("CreationDate");
    expect(one({ ...rate, StartDate: "2025-01-01T00:00:00Z" })).toMatchObject({
      body: { startsAt: "2025-01-01T00:00:00.000Z" },
      told: expect.not.stringContaining("CreationDate"),
    });
  });

  test("Retries follow EventBridge's setting or Carillon's default, with a note", () => {
    expect(one().body).not.toHaveProperty("retry");
    expect(one().told).toContain("185 times");
    const few = one({}, { RetryPolicy: { MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 600 } });
    expect(few.body).toMatchObject({ retry: { attempts: 1 }, deadline: "600s" });
    const many = one({}, { RetryPolicy: { MaximumRetryAttempts: 150 } });
    expect(many).toMatchObject({
      body: { retry: { attempts: 100 } },
      told: expect.stringContaining("not 151"),
    });
  });

  test.each([
    [`arn:aws:sqs:${region}:q.fifo`, { SqsParameters: { MessageGroupId: "g" } }, { groupId: "g" }],
    [
      `arn:aws:events:${region}:event-bus/orders`,
      { EventBridgeParameters: { Source: "shop", DetailType: "closed" } },
      { event: { bus: `arn:aws:events:${region}:event-bus/orders`, source: "shop", detailType: "closed" } },
    ],
    [`${lambda}:live`, {}, { lambda: `${lambda}:live` }],
  ])("A target of EventBridge becomes %s", (Arn, parameters, expected) => {
    expect(one({}, { Arn, ...parameters }).body["target"]).toMatchObject(expected);
  });

  test.each([
    "arn:aws:scheduler:::aws-sdk:sqs:sendMessage",
    `arn:aws:states:${region}:stateMachine:x`,
    `arn:aws:sns:${region}:topic`,
  ])("The target %s cannot be imported without --target", (Arn) => {
    expect(one({}, { Arn }).faults.join()).toContain("does not call");
    const [moved] = read(schedule({}, { Arn }), { queue: "instead" }).found;
    expect(moved).toMatchObject({ faults: [], body: { target: { queue: "instead" } } });
    expect(moved?.differences.join()).toContain("goes to --target instead of arn:aws:");
  });

  test("Placeholders of AWS in the input are noted", () => {
    expect(one({}, { Input: '"<aws.scheduler.scheduled-time>"' }).told).toContain("is not replaced");
    expect(one({}, { Input: "hello" })).toMatchObject({
      body: { payload: "hello" },
      told: expect.stringContaining("not JSON"),
    });
    expect(one({}, { Input: undefined }).told).toContain("no Input");
    expect(one({}, { Input: '{"id":12345678901234567890}' }).faults.join()).toContain(
      "cannot be kept exactly",
    );
    expect(one({}, { DeadLetterConfig: { Arn: "arn:dlq" } }).told).toContain("arn:dlq");
  });
});

describe("a file of EventBridge", () => {
  test("A file may hold one schedule, several in a row, a list, or a page", () => {
    const two = [schedule({ Name: "a" }), schedule({ Name: "b", Description: 'a "}{" in it' })];
    const pretty = two.map((each) => JSON.stringify(each, null, 2)).join("\n");
    for (const text of [pretty, two, { Schedules: two }, { Schedules: two, NextToken: "more" }])
      expect(read(text).found.map(({ key }) => key)).toEqual(["a", "b"]);
    expect(read({ Schedules: two, NextToken: "more" }).notes.join()).toContain("one page");
    expect(read("{").found).toMatchObject([{ faults: ["is not JSON"] }]);
    expect(read([{ Name: 5 }]).found[0]?.faults.join()).toContain("Name");
  });

  test("Output of list-schedules is refused with the command that has the missing parts", () => {
    const listed = { Schedules: [{ Name: "a", GroupName: "g", Target: { Arn: lambda } }] };
    expect(read(listed).found[0]?.faults.join()).toContain(
      "aws scheduler get-schedule --name a --group-name g",
    );
  });

  test("Each target of a rule becomes a schedule", () => {
    const rule = {
      Name: "nightly",
      Arn: `arn:aws:events:${region}:rule/nightly`,
      State: "DISABLED",
      EventBusName: "default",
      ScheduleExpression: "rate(1 day)",
    };
    const Targets = [
      { Id: "1", Arn: lambda, Input: "{}" },
      { Id: "2", Arn: lambda, InputPath: "$.detail" },
    ];
    const { found } = read({ Rules: [{ ...rule, Targets }] });
    expect(found).toMatchObject([
      { key: "nightly:1", body: { paused: true, when: "rate(1 day)" }, faults: [] },
      { key: "nightly:2", faults: [expect.stringContaining("InputPath")] },
    ]);
    expect(read({ Rules: [rule] }).found[0]?.faults.join()).toContain("list-targets-by-rule --rule nightly");
    const onEvents = { ...rule, ScheduleExpression: undefined, EventPattern: "{}" };
    expect(read({ Rules: [onEvents] }).found[0]?.faults.join()).toContain("a watch");
  });
});

test("A JSON value ends with its closing bracket; brackets in strings do not count", () => {
  expect(jsonValues('{"a":"}"}\n[1,"\\"]"] {"b":{}}')).toEqual([{ a: "}" }, [1, '"]'], { b: {} }]);
  expect(jsonValues('{"a":1} and more')).toBeNull();
  expect(jsonValues("  ")).toBeNull();
  expect(jsonValues(`["${"a".repeat(100_000)}`)).toBeNull();
});
