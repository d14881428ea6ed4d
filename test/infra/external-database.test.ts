import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Match } from "aws-cdk-lib/assertions";
import { beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { idIn, type Synthesised, synthesised } from "./synthesised.ts";

const secretArn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop/owner-AbCdEf";
const external = {
  database: "external",
  databaseHost: "db.example.com",
  databaseName: "shop",
  databaseSecretArn: secretArn,
  databaseMaxConnections: 200,
};
const outside = { ...external, functionsInVpc: "false" };
const brought = {
  vpcId: "vpc-0123456789abcdef0",
  vpcSubnetIds: "subnet-0123456789abcdef0,subnet-0123456789abcdef1",
  vpcAvailabilityZones: "eu-central-1a,eu-central-1b",
};

const environment = z.object({ Variables: z.record(z.string(), z.unknown()) });

function querying(stack: Synthesised): { id: string; told: Record<string, unknown> }[] {
  return stack
    .ofType("AWS::Lambda::Function")
    .map(([id, { Properties }]) => ({
      id,
      told: environment.safeParse(Properties["Environment"]).data?.Variables ?? {},
    }))
    .filter(({ told }) => "DATABASE_HOST" in told);
}

let stack: Synthesised;
beforeAll(() => {
  stack = synthesised({ ...outside, archiveBucket: "ledger" });
});

test("with an external database outside of any VPC, neither a database nor a VPC is made", () => {
  for (const type of ["AWS::RDS::", "AWS::EC2::"])
    expect(Object.values(stack.resources).filter(({ Type }) => Type.startsWith(type))).toEqual([]);
  for (const [, { Properties }] of stack.ofType("AWS::Lambda::Function"))
    expect(Properties).not.toHaveProperty("VpcConfig");
  for (const [, { Properties }] of stack.ofType("AWS::CloudWatch::Alarm"))
    expect(Properties["Namespace"]).not.toBe("AWS/RDS");
});

test("each function gets a secret of its own role and may read only that; the migration reads all of them", () => {
  const policies = stack.ofType("AWS::IAM::Policy").map(([id, each]) => [id, JSON.stringify(each)] as const);
  const secretsReadBy = (fn: string) =>
    policies
      .filter(([id]) => id.startsWith(fn))
      .flatMap(([, text]) => [...text.matchAll(/"Ref":"(DatabaseLogin\w+)"/g)].map(([, id]) => id));
  const functions = querying(stack).filter(({ told }) => "DATABASE_USER" in told);
  expect(functions).toHaveLength(6);
  const own = functions.map(({ id, told }) => {
    expect(told).toMatchObject({
      DATABASE_AUTH: "secret",
      DATABASE_HOST: "db.example.com",
      DATABASE_PORT: "5432",
    });
    const secret = idIn(told["DATABASE_SECRET_ARN"]);
    expect(secretsReadBy(id.replace(/(Function)?[0-9A-F]{8}$/, ""))).toEqual([secret]);
    const generated = stack.resources[secret]?.Properties["GenerateSecretString"];
    expect(JSON.stringify(generated)).toContain(String(told["DATABASE_USER"]));
    return secret;
  });
  expect(new Set(own).size).toBe(6);
  expect(new Set(secretsReadBy("Migration"))).toEqual(new Set(own));
  expect(policies.filter(([, text]) => text.includes(secretArn)).map(([id]) => id.slice(0, 9))).toEqual([
    "Migration",
  ]);
});

test("a higher `databasePasswords` makes new passwords, and the migration sets them on the server", () => {
  const raised = synthesised({ ...outside, databasePasswords: 2 });
  const of = (from: Synthesised) => ({
    templates: from
      .ofType("AWS::SecretsManager::Secret")
      .filter(([id]) => id.startsWith("DatabaseLogin"))
      .map(([id, { Properties }]) => [id, JSON.stringify(Properties["GenerateSecretString"])] as const),
    logins: from.ofType("Custom::CarillonMigration").map(([, { Properties }]) => Properties["logins"]),
  });
  const [before, after] = [of(stack), of(raised)];
  expect(after.templates.map(([id]) => id)).toEqual(before.templates.map(([id]) => id));
  for (const [index, [, template]] of after.templates.entries())
    expect(template).not.toBe(before.templates[index]?.[1]);
  expect(after.logins).not.toEqual(before.logins);
});

test("functions in a VPC may connect to the external database's networks at its port, and to nothing else", () => {
  const inside = synthesised({
    ...external,
    ...brought,
    databasePort: 6432,
    databaseNetworks: "10.20.0.0/16,10.30.7.0/24",
    databaseCaFile: fileURLToPath(new URL("../fixtures/tls/authority.pem", import.meta.url)),
  });
  const beyondHttps = inside
    .ofType("AWS::EC2::SecurityGroupEgress")
    .map(([, { Properties }]) => Properties)
    .filter(({ FromPort }) => FromPort !== 443);
  expect(beyondHttps).toEqual(
    ["10.20.0.0/16", "10.30.7.0/24"].map((CidrIp) =>
      expect.objectContaining({ CidrIp, FromPort: 6432, ToPort: 6432, IpProtocol: "tcp" }),
    ),
  );
  for (const { told } of querying(inside))
    expect(told["DATABASE_CA"]).toMatch(/^-----BEGIN CERTIFICATE-----\n/);
});

test("functions connect without TLS only when the setting says so", () => {
  for (const { told } of querying(stack)) expect(told).not.toHaveProperty("DATABASE_TLS");
  synthesised({ ...outside, databaseTls: "off" }).template.hasResourceProperties("AWS::Lambda::Function", {
    Environment: { Variables: Match.objectLike({ DATABASE_TLS: "off" }) },
  });
});

test("behind an external database's unknown pooler, statements are prepared by name only when the setting says so", () => {
  const prepared = (from: Synthesised) =>
    querying(from)
      .filter(({ told }) => "DATABASE_USER" in told)
      .map(({ told }) => told["DATABASE_PREPARE"]);
  expect(prepared(stack)).toEqual(Array.from({ length: 6 }, () => "off"));
  const direct = synthesised({ ...outside, databasePrepare: true });
  expect(new Set(prepared(direct))).toEqual(new Set(["on"]));
});

test("an unreachable external database and settings without effect are refused with the remedy", () => {
  expect(() => synthesised(external)).toThrow("give that VPC as vpcId, with vpcSubnetIds");
  expect(() => synthesised({ ...external, ...brought })).toThrow("databaseNetworks: give the networks");
  expect(() => synthesised({ ...outside, databaseNetworks: "10.0.0.0/8" })).toThrow("leave it out");
  expect(() => synthesised({ ...outside, ...brought })).toThrow("leave out vpcId, vpc and endpoints");
  expect(() => synthesised({ functionsInVpc: false })).toThrow(
    "functionsInVpc: it is only for database external",
  );
  expect(() => synthesised({ ...outside, databaseInstanceId: "shop" })).toThrow(
    "is only for database existing",
  );
  const { databaseMaxConnections, ...uncounted } = outside;
  expect(() => synthesised(uncounted)).toThrow("also needs databaseMaxConnections");
  expect(() => synthesised({ ...outside, databaseCaFile: "/nowhere.pem" })).toThrow("databaseCaFile: ");
});

test("all faults of an external database are refused at once", () => {
  const refused = () => synthesised({ database: "external", databaseInstanceId: "shop" });
  expect(refused).toThrow("databaseInstanceId: it is only for database existing");
  expect(refused).toThrow("also needs databaseHost, databaseSecretArn, databaseMaxConnections");
  expect(refused).toThrow("or run functions outside of a VPC with functionsInVpc=false");
});

test("the example of an external database in docs/deploy.md can be deployed as it is", () => {
  const page = readFileSync(new URL("../../docs/deploy.md", import.meta.url), "utf8");
  const [, example = ""] = /```json\n(\{\n {2}"carillon:database": "external".*?)```/s.exec(page) ?? [];
  const given = z.record(z.string(), z.unknown()).parse(JSON.parse(example));
  const settings = Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name.replace("carillon:", ""), value]),
  );
  expect(synthesised(settings).ofType("AWS::RDS::DBInstance")).toEqual([]);
});
