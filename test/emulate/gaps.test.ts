import { expect, test } from "vitest";
import { gapsOf, type Template, withoutGaps } from "./gaps.ts";

const alarm = (Properties: object) => ({ Type: "AWS::CloudWatch::Alarm", Properties: { ...Properties } });

const template: Template = {
  Resources: {
    Plain: alarm({ MetricName: "Errors" }),
    Sum: alarm({ Metrics: [] }),
    Migration: { Type: "Custom::CarillonMigration", Properties: {} },
    Function: {
      Type: "AWS::Lambda::Function",
      Properties: { Secret: { "Fn::GetAtt": ["Database", "MasterUserSecret.SecretArn"] } },
      DependsOn: ["Migration", "Role"],
    },
  },
};

test("only resources that the emulator lacks are left out, and dependencies on them are removed", () => {
  const { template: given, leftOut } = withoutGaps(template, gapsOf("rds"));
  expect(leftOut).toEqual(["Sum", "Migration"]);
  expect(Object.keys(given.Resources)).toEqual(["Plain", "Function"]);
  expect(given.Resources["Function"]).toEqual({
    Type: "AWS::Lambda::Function",
    Properties: { Secret: expect.stringMatching(/^arn:aws:secretsmanager:/) },
    DependsOn: ["Role"],
  });
});

test("the migration is kept when there is a Postgres for it", () => {
  expect(withoutGaps(template, gapsOf("external")).leftOut).toEqual(["Sum"]);
});
