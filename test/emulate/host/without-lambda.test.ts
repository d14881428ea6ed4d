import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type Template, templateShape } from "../gaps.ts";
import { profileTemplate } from "./profile-template.ts";
import { withoutLambda } from "./without-lambda.ts";

const server = "http://127.0.0.1:8787";
/** A part of a text that CloudFormation replaces. */
const placeholder = (name: string) => `$\{${name}}`;
const functionArn = { "Fn::GetAtt": ["Work", "Arn"] };

const small = templateShape.parse({
  Parameters: { BootstrapVersion: { Type: "AWS::SSM::Parameter::Value<String>" } },
  Rules: { CheckBootstrapVersion: {} },
  Conditions: { Always: { "Fn::Equals": ["a", "a"] } },
  Resources: {
    Role: { Type: "AWS::IAM::Role" },
    Work: { Type: "AWS::Lambda::Function", Properties: { Role: { "Fn::GetAtt": ["Role", "Arn"] } } },
    Mapping: { Type: "AWS::Lambda::EventSourceMapping", Properties: { FunctionName: { Ref: "Work" } } },
    Applied: { Type: "Custom::Migration", Properties: { ServiceToken: functionArn } },
    Alarm: {
      Type: "AWS::CloudWatch::Alarm",
      Properties: { Dimensions: [{ Name: "FunctionName", Value: { Ref: "Work" } }] },
      DependsOn: ["Applied"],
    },
    Policy: {
      Type: "AWS::IAM::Policy",
      Properties: { Resource: functionArn },
      DependsOn: ["Applied", "Role"],
    },
    Reader: {
      Type: "AWS::IAM::Policy",
      Properties: { Resource: { "Fn::Sub": `arn:${placeholder("Parameter")}` } },
    },
    Parameter: {
      Type: "AWS::SSM::Parameter",
      Properties: { Value: { "Fn::GetAtt": ["Applied", "Version"] } },
    },
    EachMinute: { Type: "AWS::Events::Rule", Properties: { Targets: [{ Id: "one", Arn: functionArn }] } },
  },
  Outputs: { Version: { Value: { Ref: "Parameter" } }, Name: { Value: { Ref: "Work" } } },
});

describe("a template without functions", () => {
  const { template, leftOut, ruleFeeds } = withoutLambda(small, server);

  test("functions, everything of Lambda and custom resources are left out, each with a reason", () => {
    const own = leftOut.filter(({ why }) => !why.startsWith("it refers to"));
    expect(own.map(({ id, type }) => [id, type])).toEqual([
      ["Work", "AWS::Lambda::Function"],
      ["Mapping", "AWS::Lambda::EventSourceMapping"],
      ["Applied", "Custom::Migration"],
    ]);
    for (const { why } of own) expect(why).not.toBe("");
  });

  test("a resource that refers to a left-out one is left out too, and so is one that refers to that", () => {
    const others = leftOut.filter(({ why }) => why.startsWith("it refers to"));
    expect(others).toEqual([
      { id: "Reader", type: "AWS::IAM::Policy", why: "it refers to Parameter" },
      { id: "Parameter", type: "AWS::SSM::Parameter", why: "it refers to Applied" },
    ]);
  });

  test("an alarm and a policy of a left-out function stay, with the name and the ARN that it would have", () => {
    expect(template.Resources["Alarm"]).toEqual({
      Type: "AWS::CloudWatch::Alarm",
      Properties: { Dimensions: [{ Name: "FunctionName", Value: "Work" }] },
    });
    expect(template.Resources["Policy"]).toEqual({
      Type: "AWS::IAM::Policy",
      Properties: { Resource: "arn:aws:lambda:us-east-1:000000000000:function:Work" },
      DependsOn: ["Role"],
    });
  });

  test("a rule that would invoke a function sends to a queue of that function instead", () => {
    expect(ruleFeeds).toEqual([{ functionId: "Work", queueId: "EventsForWork" }]);
    expect(template.Resources["EachMinute"]?.Properties).toEqual({
      Targets: [{ Id: "one", Arn: { "Fn::GetAtt": ["EventsForWork", "Arn"] } }],
    });
    expect(template.Resources["EventsForWork"]?.Type).toBe("AWS::SQS::Queue");
  });

  test("outputs of left-out resources and the CDK's check of the bootstrap are left out, and conditions stay", () => {
    const { Outputs, Conditions, Parameters, Rules } = template;
    expect({ Outputs, Conditions, Parameters, Rules }).toEqual({
      Outputs: { Name: { Value: "Work" } },
      Conditions: { Always: { "Fn::Equals": ["a", "a"] } },
      Parameters: undefined,
      Rules: undefined,
    });
  });
});

describe("the profile without functions", () => {
  const whole = profileTemplate();
  const adapted = withoutLambda(whole, server);
  const { template, leftOut, ruleFeeds } = adapted;

  test("each resource of the profile is deployed or listed as left out, and only the rule's queue is added", () => {
    const added = ruleFeeds.map(({ queueId }) => queueId);
    expect(added).toHaveLength(1);
    const all = [...Object.keys(template.Resources), ...leftOut.map(({ id }) => id)];
    expect(all.toSorted()).toEqual([...Object.keys(whole.Resources), ...added].toSorted());
  });

  test("only functions and their parts, the migration, the dashboard and the metric filter of the profile are left out", () => {
    const types = new Set(leftOut.map(({ type }) => type));
    expect([...types].toSorted()).toEqual([
      "AWS::CloudWatch::Dashboard",
      "AWS::Lambda::EventInvokeConfig",
      "AWS::Lambda::EventSourceMapping",
      "AWS::Lambda::Function",
      "AWS::Lambda::Permission",
      "AWS::Logs::MetricFilter",
      "Custom::CarillonMigration",
    ]);
  });

  test("no reference and no dependency of the profile leads to a missing resource", () => {
    expect(missingIn(template)).toEqual([]);
    expect(missingIn({ ...whole, Resources: { ...whole.Resources, FastQueue: dangling } })).toEqual([
      "Absent",
      "Gone",
      "Lost",
      "Void",
    ]);
  });

  test("all methods of the profile's API send to the local server, on their own paths", () => {
    const uris = Object.values(template.Resources)
      .filter(({ Type }) => Type === "AWS::ApiGateway::Method")
      .map(({ Properties }) => integration.parse(Properties["Integration"]));
    expect(uris.map(({ Uri }) => Uri).toSorted()).toEqual([
      `${server}/`,
      `${server}/health`,
      `${server}/v1`,
      `${server}/v1/{proxy}`,
      `${server}/{proxy}`,
    ]);
    const greedy = uris.filter(({ Uri }) => Uri.endsWith("{proxy}"));
    for (const { RequestParameters } of greedy)
      expect(RequestParameters).toEqual({ "integration.request.path.proxy": "method.request.path.proxy" });
  });

  test("the same profile gives the same text, and is itself not changed", () => {
    const before = JSON.stringify(whole);
    expect(JSON.stringify(withoutLambda(whole, server))).toBe(JSON.stringify(adapted));
    expect(JSON.stringify(whole)).toBe(before);
  });
});

const integration = z.object({
  Type: z.literal("HTTP_PROXY"),
  Uri: z.string(),
  RequestParameters: z.record(z.string(), z.string()).optional(),
});

const dangling = {
  Type: "AWS::SQS::Queue",
  Properties: {
    QueueName: { Ref: "Absent" },
    Dead: { "Fn::GetAtt": ["Gone", "Arn"] },
    Text: { "Fn::Sub": `${placeholder("AWS::Region")}:${placeholder("Lost.Arn")}` },
  },
  DependsOn: ["Void"],
};

/** Found in the text, and so independent of the code that leaves resources out. */
function missingIn(template: Template): string[] {
  const text = JSON.stringify(template);
  const named = [
    ...text.matchAll(/\{"Ref":"(\w+)"\}/g),
    ...text.matchAll(/"Fn::GetAtt":\["(\w+)"/g),
    ...[...text.matchAll(/"Fn::Sub":\[?"((?:[^"\\]|\\.)*)"/g)].flatMap(([, sub = ""]) => [
      ...sub.matchAll(/\$\{(\w+)(?:\.\w+)*\}/g),
    ]),
  ].map(([, id = ""]) => id);
  const waited = Object.values(template.Resources).flatMap(({ DependsOn = [] }) => DependsOn);
  const { Parameters = {} } = z
    .looseObject({ Parameters: z.record(z.string(), z.unknown()).optional() })
    .parse(template);
  const known = new Set([...Object.keys(template.Resources), ...Object.keys(Parameters)]);
  return [...new Set([...named, ...waited])].filter((id) => !known.has(id)).toSorted();
}
