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

test("an existing database: none is made, and every function that queries is told where it is", () => {
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

test("functions log in as their own users of that instance, and the secret is read by the migration alone", () => {
  const policies = stack.ofType("AWS::IAM::Policy").map(([id, each]) => ({ id, text: JSON.stringify(each) }));
  const connecting = policies.filter(({ text }) => text.includes("rds-db:connect"));
  expect(connecting).toHaveLength(5);
  for (const { text } of connecting)
    expect(text).toMatch(/dbuser:db-ABCDEFGHIJKLMNOPQRSTUVWXYZ\/carillon_\w+"/);
  const reading = policies.filter(({ text }) => text.includes(secretArn));
  expect(reading.map(({ id }) => id.slice(0, 9))).toEqual(["Migration"]);
});

test("its security group lets the functions in at its port, and theirs lets them out to it", () => {
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

test("the migration waits for the ways to it, and is called when it is another: from a backup, or moved", () => {
  const [migration] = stack.ofType("Custom::CarillonMigration").map(([, each]) => each);
  for (const type of ["AWS::EC2::SecurityGroupIngress", "AWS::EC2::SecurityGroupEgress"])
    for (const [id] of stack.ofType(type)) expect(migration?.DependsOn).toContain(id);
  expect(migration?.Properties["database"]).toBe(`${existing.databaseHost}:5433/shop`);
});

test("its metrics are watched by its identifier", () => {
  stack.template.hasResourceProperties("AWS::CloudWatch::Alarm", {
    Namespace: "AWS/RDS",
    Dimensions: [{ Name: "DBInstanceIdentifier", Value: "shop" }],
  });
});

test("half a description is refused, and so is one that would not count", () => {
  const { databaseHost, databaseMaxConnections, ...half } = existing;
  expect(() => synthesised({ ...vpc, ...half })).toThrow(
    "database: an existing one also needs databaseHost, databaseMaxConnections",
  );
  expect(() => synthesised({ ...vpc, ...half, database: "rds" })).toThrow(
    "databasePort: it is only for database existing or external, and database is rds",
  );
  expect(() => synthesised(existing)).toThrow("name that by vpcId");
  expect(() => synthesised({ ...vpc, ...existing, databaseMaxConnections: 80 })).toThrow("has 70 for them");
  expect(() => synthesised({ database: "oracle" })).toThrow("carillon:database: it takes rds");
  expect(() => synthesised({ databaseSecretArn: "shop/master" })).toThrow(
    "carillon:databaseSecretArn: it takes the whole ARN of a secret",
  );
});
