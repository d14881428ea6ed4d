import { beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { idIn, type Synthesised, synthesised } from "./synthesised.ts";
import { variants } from "./variants.ts";

// AWS's limits, from its own pages on quotas. A deployment that exceeds one fails after minutes,
// and CloudFormation rolls it back.
const template = { resources: 500, bytes: 1_000_000, outputs: 200, parameters: 200, description: 1_024 };
const environmentBytesMax = 4_096;
/**
 * The limits of all inline policies of a role together, and of one managed policy, counted without
 * blanks.
 */
const policyCharactersMax = { inline: 10_240, managed: 6_144 };
const managedPoliciesMax = 10;
const targetsOfRuleMax = 5;
const subnetsOfFunctionMax = 16;
const dashboardWidgetsMax = 500;
const descriptionMax: Readonly<Record<string, number>> = {
  "AWS::Lambda::Function": 256,
  "AWS::CloudWatch::Alarm": 1_024,
  "AWS::Events::Rule": 512,
  "AWS::Scheduler::Schedule": 512,
  "AWS::IAM::Role": 1_000,
  "AWS::EC2::SecurityGroup": 255,
  "AWS::EC2::SecurityGroupIngress": 255,
  "AWS::EC2::SecurityGroupEgress": 255,
  "AWS::RDS::DBParameterGroup": 255,
  "AWS::RDS::DBClusterParameterGroup": 255,
  "AWS::RDS::DBSubnetGroup": 255,
  "AWS::SecretsManager::Secret": 2_048,
};

/**
 * Values at least as long as the deployed ones, in the region and partition with the longest names.
 */
const pseudo: Readonly<Record<string, string>> = {
  "AWS::Region": "ap-northeast-1",
  "AWS::Partition": "aws-us-gov",
  "AWS::AccountId": "123456789012",
  "AWS::URLSuffix": "amazonaws.com.cn",
  "AWS::StackName": "n".repeat(128),
  "AWS::StackId": `arn:aws-us-gov:cloudformation:ap-northeast-1:123456789012:stack/${"n".repeat(128)}/51af3dc0-da77-11e4-872e-1234567db123`,
};
/**
 * The longest referenced value: the address of an RDS endpoint, or the URL or ARN of the queue with
 * the longest name.
 */
const referred = "r".repeat(150);

function deployed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(deployed);
  if (typeof value !== "object" || value === null) return value;
  const [[kind, inside] = ["", undefined]] = Object.entries(value);
  if (kind === "Ref") return pseudo[String(inside)] ?? referred;
  if (kind === "Fn::GetAtt") return String(inside).endsWith(".Port") ? "65535" : referred;
  if (kind === "Fn::Join" && Array.isArray(inside)) return inside[1].map(deployed).join(inside[0]);
  if (kind === "Fn::Split" && Array.isArray(inside)) return String(deployed(inside[1])).split(inside[0]);
  if (kind === "Fn::Select" && Array.isArray(inside)) return Object(deployed(inside[1]))[inside[0]];
  if (kind === "Fn::If" && Array.isArray(inside)) return longerOf(deployed(inside[1]), deployed(inside[2]));
  if (kind.startsWith("Fn::")) throw new Error(`The length of ${JSON.stringify(value)} is not known.`);
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, deployed(each)]));
}

const longerOf = (one: unknown, other: unknown) =>
  JSON.stringify(one).length < JSON.stringify(other).length ? other : one;

function charactersOf(document: unknown): number {
  return JSON.stringify(deployed(document)).length;
}

const policies = z.array(z.object({ PolicyDocument: z.unknown() })).default([]);
const variables = z.object({ Variables: z.record(z.string(), z.unknown()) });

describe.each(Object.keys(variants))("with the settings of: %s", (name) => {
  let stack: Synthesised;
  beforeAll(() => {
    stack = synthesised(variants[name]);
  });

  test("the template is within CloudFormation's limits", () => {
    const whole = stack.template.toJSON();
    expect(Object.keys(whole["Resources"]).length).toBeLessThan(template.resources);
    expect(Buffer.byteLength(JSON.stringify(whole, null, 1))).toBeLessThan(template.bytes);
    expect(Object.keys(whole["Outputs"]).length).toBeLessThan(template.outputs);
    expect(Object.keys(whole["Parameters"]).length).toBeLessThan(template.parameters);
    const outputs = z.record(z.string(), z.looseObject({ Description: z.string().default("") }));
    for (const { Description } of [whole, ...Object.values(outputs.parse(whole["Outputs"]))])
      expect(String(Description).length).toBeLessThanOrEqual(template.description);
  });

  test("every description is within the limit of its service", () => {
    for (const [id, { Type, Properties }] of Object.entries(stack.resources)) {
      const text = ["Description", "AlarmDescription", "GroupDescription", "DBSubnetGroupDescription"]
        .map((property) => Properties[property])
        .find((each) => each !== undefined);
      const most = descriptionMax[Type];
      if (text !== undefined && most !== undefined)
        expect(String(deployed(text)).length, id).toBeLessThanOrEqual(most);
    }
  });

  test("every function's variables fit into Lambda's four kilobytes", () => {
    for (const [id, { Properties }] of stack.ofType("AWS::Lambda::Function")) {
      const { Variables } = variables.catch({ Variables: {} }).parse(Properties["Environment"]);
      expect(charactersOf(Variables), id).toBeLessThanOrEqual(environmentBytesMax);
      const subnets = Object(Properties["VpcConfig"])["SubnetIds"] ?? [];
      expect(subnets.length, id).toBeLessThanOrEqual(subnetsOfFunctionMax);
    }
  });

  test("every role's policies are within IAM's limits", () => {
    const characters = new Map<string, number>();
    const add = (role: string, document: unknown) =>
      characters.set(role, (characters.get(role) ?? 0) + charactersOf(document));
    for (const [id, { Properties }] of stack.ofType("AWS::IAM::Role")) {
      for (const { PolicyDocument } of policies.parse(Properties["Policies"])) add(id, PolicyDocument);
      const managed = z.array(z.unknown()).default([]).parse(Properties["ManagedPolicyArns"]);
      expect(managed.length, id).toBeLessThanOrEqual(managedPoliciesMax);
    }
    for (const [, { Properties }] of stack.ofType("AWS::IAM::Policy"))
      for (const role of z.array(z.unknown()).parse(Properties["Roles"]))
        add(idIn(role), Properties["PolicyDocument"]);
    expect(characters.size).toBeGreaterThan(6);
    for (const [role, sum] of characters) expect(sum, role).toBeLessThanOrEqual(policyCharactersMax.inline);
    for (const [id, { Properties }] of stack.ofType("AWS::IAM::ManagedPolicy"))
      expect(charactersOf(Properties["PolicyDocument"]), id).toBeLessThanOrEqual(policyCharactersMax.managed);
  });

  test("every rule and dashboard is within the limits of EventBridge and CloudWatch", () => {
    for (const [id, { Properties }] of stack.ofType("AWS::Events::Rule"))
      expect(z.array(z.unknown()).parse(Properties["Targets"]).length, id).toBeLessThanOrEqual(
        targetsOfRuleMax,
      );
    for (const [, { Properties }] of stack.ofType("AWS::CloudWatch::Dashboard")) {
      const body = z
        .object({ widgets: z.array(z.unknown()) })
        .parse(JSON.parse(String(deployed(Properties["DashboardBody"]))));
      expect(body.widgets.length).toBeLessThanOrEqual(dashboardWidgetsMax);
    }
  });
});
