import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { checkConnectionBudget } from "../../../infra/database/connection-budget.ts";
import { settingsOfValues } from "../../../infra/settings.ts";
import { connectionRules } from "../../../infra/tools/template/connection-rules.ts";
import { defaultsOf, learnedFrom, settingsOf } from "../../../infra/tools/template/parameter.ts";
import type { PlainTemplate } from "../../../infra/tools/template/plain-template.ts";
import { templateFiles } from "../../../infra/tools/template/write-deployment.ts";
import { plain } from "./templates.ts";

const declaration = z.strictObject({
  Type: z.enum(["String", "AWS::EC2::VPC::Id", "AWS::EC2::Subnet::Id"]),
  Description: z.string().min(20).max(4_000),
  Default: z.string().optional(),
  AllowedValues: z.array(z.string()).optional(),
  AllowedPattern: z.string().optional(),
  ConstraintDescription: z.string().optional(),
  MaxLength: z.number().optional(),
});

let template: PlainTemplate;
let declared: Record<string, z.infer<typeof declaration>>;
beforeAll(() => {
  template = plain(templateFiles.inVpc);
  declared = z.record(z.string(), declaration).parse(template.template["Parameters"]);
}, 600_000);

const declarationOf = (name: string) => {
  const found = declared[name];
  if (found === undefined) throw new Error(`There is no parameter ${name}.`);
  return found;
};

/** Whether CloudFormation would accept the value. */
function isAccepted(name: string, value: string): boolean {
  const { AllowedValues, AllowedPattern, MaxLength = 4_096 } = declarationOf(name);
  if (AllowedValues !== undefined) return AllowedValues.includes(value);
  return value.length <= MaxLength && new RegExp(AllowedPattern ?? "").test(value);
}

function isSetting(setting: string, value: string): boolean {
  try {
    settingsOfValues({ [setting]: value });
    return true;
  } catch {
    return false;
  }
}

/** The values of patterns, without those that a lookahead refuses: the generator does not know it. */
function valuesOf(name: string): fc.Arbitrary<string> {
  const { AllowedValues, AllowedPattern = "" } = declarationOf(name);
  if (AllowedValues !== undefined) return fc.constantFrom(...AllowedValues);
  const pattern = new RegExp(AllowedPattern.replaceAll(/\(\?![^)]*\)/g, ""));
  return fc.stringMatching(pattern).filter((value) => value !== "" && isAccepted(name, value));
}

test("each parameter has a type, a description, and a default that it accepts, or must be given", () => {
  for (const [name, { Default, AllowedValues, AllowedPattern, Type }] of Object.entries(declared)) {
    if (Default !== undefined) expect(isAccepted(name, Default), name).toBe(true);
    else expect(["CodeBucket", "VpcId", "SubnetOne", "SubnetTwo"]).toContain(name);
    expect(AllowedValues ?? AllowedPattern ?? (Type === "String" ? "" : Type), name).not.toBe("");
  }
});

test("the console shows each parameter in one group", () => {
  const groups = z
    .object({
      "AWS::CloudFormation::Interface": z.object({
        ParameterGroups: z.array(z.object({ Parameters: z.array(z.string()) })),
      }),
    })
    .parse(template.template["Metadata"])["AWS::CloudFormation::Interface"].ParameterGroups;
  expect(groups.flatMap(({ Parameters }) => Parameters).toSorted()).toEqual(Object.keys(declared).toSorted());
});

test("the construct accepts every value that a parameter accepts", () => {
  const checked = template.parameters.filter(({ group }) => group !== "Network");
  expect(checked.length).toBeGreaterThan(20);
  for (const { name, setting } of checked)
    fc.assert(
      fc.property(valuesOf(name), (value) => {
        expect(isSetting(setting, value), `${name}: ${value}`).toBe(true);
      }),
    );
}, 120_000);

test.each<[string, string]>([
  ["DatabaseClass", "micro"],
  ["DatabaseStorageGiB", "19"],
  ["DatabaseBackupDays", "0"],
  ["DatabaseBackupDays", "36"],
  ["DatabaseBackupDays", "7.5"],
  ["DatabaseProtected", "maybe"],
  ["FastConcurrency", "1"],
  ["SlowConcurrency", "1001"],
  ["JobRetentionDays", "0"],
  ["JobRetentionDays", "3651"],
  ["AuditRetentionDays", "29"],
  ["AuditRetentionDays", "36501"],
  ["LogRetentionDays", "2"],
  ["ApiRequestsPerSecond", "10001"],
  ["ApiRatePerToken", "0/s"],
  ["ApiRatePerToken", "5/d"],
  ["ApiCorsOrigins", "*"],
  ["ApiCorsOrigins", "https://app.example.com/"],
  ["ApiCorsOrigins", "http://app.example.com"],
  ["ApiCorsOrigins", "https://app.example.com:443"],
  ["PageName", " Orders"],
  ["PageName", "n".repeat(41)],
  ["TargetQueueArns", "orders"],
  ["TargetQueueArns", "arn:aws:sqs:*:123456789012:orders"],
  ["TargetBusArns", "arn:aws:events:eu-central-1:*:event-bus/orders"],
  ["TargetFunctionArns", "arn:aws:lambda:eu-central-1:123456789012:function:one,two*"],
  ["WebhookDenyNetworks", "10.0.0.0"],
  ["WebhookDenyNetworks", "10.0.0.256/8"],
  ["AlarmTopicArn", "arn:aws:sqs:eu-central-1:123456789012:alarms"],
  ["AlarmLatenessSeconds", "0"],
  ["MetricsNamespace", "AWS/Lambda"],
  ["MetricsNamespace", "n".repeat(256)],
  ["Dashboard", "no"],
])("%s refuses %s, as the construct does", (name, value) => {
  const setting = template.parameters.find((each) => each.name === name)?.setting ?? "";
  expect(isSetting(setting, value)).toBe(false);
  expect(isAccepted(name, value)).toBe(false);
});

test("the longest lists that parameters accept fit into the functions' variables together", () => {
  const lists = [
    "TargetQueueArns",
    "TargetBusArns",
    "TargetFunctionArns",
    "WebhookDenyNetworks",
    "ApiCorsOrigins",
  ];
  const lengths = lists.map((name) => declarationOf(name).MaxLength ?? Number.POSITIVE_INFINITY);
  // The limits of infra/settings/targets.ts and infra/api/api-checks.ts.
  expect(lengths.slice(0, 4).reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(1_800);
  expect(lengths.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(2_400);
});

describe("rules", () => {
  const rule = z.object({
    RuleCondition: z.unknown().optional(),
    Assertions: z.array(z.object({ Assert: z.unknown(), AssertDescription: z.string().min(20) })),
  });

  /** A rule-specific function of CloudFormation with these values of the parameters. */
  function holds(expression: unknown, values: Readonly<Record<string, string>>): boolean {
    const [[kind, inside] = ["", []]] = Object.entries(
      z.record(z.string(), z.array(z.unknown())).parse(expression),
    );
    const textOf = (each: unknown) =>
      typeof each === "string" ? each : (values[z.object({ Ref: z.string() }).parse(each).Ref] ?? "");
    if (kind === "Fn::And") return inside.every((each) => holds(each, values));
    if (kind === "Fn::Equals") return textOf(inside[0]) === textOf(inside[1]);
    if (kind === "Fn::Contains") return z.array(z.string()).parse(inside[0]).includes(textOf(inside[1]));
    throw new Error(`${kind} is no function that these rules use.`);
  }

  test("the rules refuse exactly the concurrency for which the construct finds too few connections", () => {
    const rules = Object.values(z.record(z.string(), rule).parse(connectionRules(template.parameters, {})));
    const axes = template.parameters.filter(({ name }) =>
      /^(DatabaseClass|FastConcurrency|SlowConcurrency)$/.test(name),
    );
    expect(axes).toHaveLength(3);
    const outcomes = new Set<boolean>();
    const [first, second, third] = axes.map(learnedFrom);
    for (const DatabaseClass of first ?? [])
      for (const FastConcurrency of second ?? [])
        for (const SlowConcurrency of third ?? []) {
          const values = { DatabaseClass, FastConcurrency, SlowConcurrency };
          const accepted = rules
            .filter(({ RuleCondition }) => holds(RuleCondition, values))
            .every(({ Assertions }) => Assertions.every(({ Assert }) => holds(Assert, values)));
          const check = () => checkConnectionBudget(settingsOfValues(settingsOf(axes, values)));
          if (accepted) expect(check).not.toThrow();
          else expect(check, JSON.stringify(values)).toThrow("database connections");
          outcomes.add(accepted);
        }
    expect(outcomes.size).toBe(2);
  });

  test("a rule names the highest concurrency that it allows, or says that none fits", () => {
    const rules = Object.values(z.record(z.string(), rule).parse(connectionRules(template.parameters, {})));
    const told = rules.flatMap(({ Assertions }) => Assertions.map((each) => each.AssertDescription));
    expect(told.every((text) => / may be \d+ at most\.$|, no SlowConcurrency fits\.$/.test(text))).toBe(true);
    expect(told).toContain(
      "The database has too few connections or too little memory: with DatabaseClass t4g.small and FastConcurrency 50, no SlowConcurrency fits.",
    );
  });

  test("the rules accept the defaults", () => {
    const rules = Object.values(z.record(z.string(), rule).parse(connectionRules(template.parameters, {})));
    const values = defaultsOf(template.parameters);
    for (const { RuleCondition, Assertions } of rules.filter((each) => holds(each.RuleCondition, values)))
      expect(
        Assertions.every(({ Assert }) => holds(Assert, values)),
        JSON.stringify(RuleCondition),
      ).toBe(true);
  });

  test("a template for an existing VPC refuses subnets of another VPC and subnets in one zone", () => {
    const rules = JSON.stringify(template.template["Rules"]);
    expect(rules).toContain('{"Fn::ValueOfAll":["AWS::EC2::Subnet::Id","VpcId"]}');
    expect(rules).toContain('{"Fn::ValueOf":["SubnetOne","AvailabilityZone"]}');
  });
});
