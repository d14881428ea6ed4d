import { Match } from "aws-cdk-lib/assertions";
import { beforeAll, expect, test } from "vitest";
import { type Synthesised, synthesised } from "./synthesised.ts";

const secretArn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop/master-AbCdEf";
const vpc = {
  vpcId: "vpc-0123456789abcdef0",
  vpcSubnetIds: "subnet-0123456789abcdef0,subnet-0123456789abcdef1",
  vpcAvailabilityZones: "eu-central-1a,eu-central-1b",
};
const existing = {
  database: "existing",
  databaseHost: "shop.abcdefghijkl.eu-central-1.rds.amazonaws.com",
  databasePort: "5433",
  databaseName: "shop",
  databaseSecretArn: secretArn,
  databaseInstanceId: "shop",
  databaseResourceId: "db-ABCDEFGHIJKLMNOPQRSTUVWXYZ",
  databaseSecurityGroupId: "sg-0123456789abcdef0",
  databaseMaxConnections: "200",
};

let stack: Synthesised;
beforeAll(() => {
  stack = synthesised({ ...vpc, ...existing });
});

test("with an existing database none is made, and every function that queries gets its address", () => {
  for (const type of ["DBInstance", "DBParameterGroup", "DBSubnetGroup"])
    stack.template.resourceCountIs(`AWS::RDS::${type}`, 0);
  const told = { DATABASE_HOST: existing.databaseHost, DATABASE_PORT: "5433", DATABASE_NAME: "shop" };
  const functions = stack
    .ofType("AWS::Lambda::Function")
    .filter(([, { Properties }]) => JSON.stringify(Properties).includes("DATABASE_HOST"));
  expect(functions).toHaveLength(6);
  for (const [, { Properties }] of functions)
    expect(Properties["Environment"]).toMatchObject({ Variables: told });
});

test("functions log in as their own users of an existing instance, and only the migration reads the secret", () => {
  const policies = stack.ofType("AWS::IAM::Policy").map(([id, each]) => ({ id, text: JSON.stringify(each) }));
  const connecting = policies.filter(({ text }) => text.includes("rds-db:connect"));
  expect(connecting).toHaveLength(5);
  for (const { text } of connecting)
    expect(text).toMatch(/dbuser:db-ABCDEFGHIJKLMNOPQRSTUVWXYZ\/carillon_\w+"/);
  const reading = policies.filter(({ text }) => text.includes(secretArn));
  expect(reading.map(({ id }) => id.slice(0, 9))).toEqual(["Migration"]);
});

test("the security group of an existing database admits the functions at its port, and theirs allows traffic to it", () => {
  const rule = { FromPort: 5433, ToPort: 5433, IpProtocol: "tcp" };
  stack.template.hasResourceProperties("AWS::EC2::SecurityGroupIngress", {
    ...rule,
    GroupId: existing.databaseSecurityGroupId,
    SourceSecurityGroupId: Match.anyValue(),
  });
  stack.template.hasResourceProperties("AWS::EC2::SecurityGroupEgress", {
    ...rule,
    DestinationSecurityGroupId: existing.databaseSecurityGroupId,
  });
});

test("the migration waits for the route to an existing database, and runs again when its address or resource id changes", () => {
  const [migration] = stack.ofType("Custom::CarillonMigration").map(([, each]) => each);
  for (const type of ["AWS::EC2::SecurityGroupIngress", "AWS::EC2::SecurityGroupEgress"])
    for (const [id] of stack.ofType(type)) expect(migration?.DependsOn).toContain(id);
  expect(migration?.Properties["database"]).toBe(`${existing.databaseHost}:5433/shop`);
});

test("the metrics of an existing database are found by its identifier", () => {
  stack.template.hasResourceProperties("AWS::CloudWatch::Alarm", {
    Namespace: "AWS/RDS",
    Dimensions: [{ Name: "DBInstanceIdentifier", Value: "shop" }],
  });
});

test("an incomplete description of an existing database is refused, and so is a setting without effect", () => {
  const { databaseHost, databaseMaxConnections, ...half } = existing;
  expect(() => synthesised({ ...vpc, ...half })).toThrow(
    "database: an existing one also needs databaseHost, databaseMaxConnections",
  );
  expect(() => synthesised({ ...vpc, ...half, database: "rds" })).toThrow(
    "databasePort: it is only for database existing or external, and database is rds",
  );
  expect(() => synthesised(existing)).toThrow("give that VPC as vpcId");
  expect(() => synthesised({ ...vpc, ...existing, databaseMaxConnections: 80 })).toThrow("has 70 for them");
  expect(() => synthesised({ database: "oracle" })).toThrow("carillon:database: it takes rds");
  expect(() => synthesised({ databaseSecretArn: "shop/master" })).toThrow(
    "carillon:databaseSecretArn: it takes the whole ARN of a secret",
  );
});
