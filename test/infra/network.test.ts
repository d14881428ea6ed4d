import { App, Stack } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { Vpc } from "aws-cdk-lib/aws-ec2";
import { describe, expect, test } from "vitest";
import { Carillon } from "../../infra/carillon.ts";
import { type Synthesised, synthesised } from "./synthesised.ts";

const brought = {
  vpcId: "vpc-0123456789abcdef0",
  vpcSubnetIds: "subnet-0123456789abcdef0,subnet-0123456789abcdef1",
  vpcAvailabilityZones: "eu-central-1a,eu-central-1b",
};
const subnetIds = brought.vpcSubnetIds.split(",");

function servicesOf(stack: Synthesised): string[] {
  return stack
    .ofType("AWS::EC2::VPCEndpoint")
    .map(([, { Properties }]) => /\.([a-z]+)"\]?/.exec(JSON.stringify(Properties["ServiceName"]))?.[1] ?? "")
    .sort();
}

const ownAccount = { Ref: "AWS::AccountId" };
const all = { Effect: "Allow", Principal: { AWS: "*" } };

/** All actions of this account's roles on resources of this account and of the others. */
const withinAccounts = (...others: string[]) => ({
  ...all,
  Action: "*",
  Resource: "*",
  Condition: {
    StringEquals: {
      "aws:PrincipalAccount": ownAccount,
      "aws:ResourceAccount": [ownAccount, ...others],
    },
  },
});

const named = (Action: unknown, Resource: unknown) => ({
  ...all,
  Action,
  Resource,
  Condition: { StringEquals: { "aws:PrincipalAccount": ownAccount } },
});

const statementsOf = (endpoint: Readonly<Record<string, unknown>> | undefined): unknown[] =>
  Object(endpoint?.["PolicyDocument"]).Statement;

test("a network that is made here has an endpoint for each service that functions call, and no other", () => {
  expect(servicesOf(synthesised())).toEqual(["events", "lambda", "secretsmanager", "sqs"]);
});

test("endpoints are in one zone, or in both with high availability", () => {
  const zonesOf = (stack: Synthesised) =>
    stack.ofType("AWS::EC2::VPCEndpoint").map(([, { Properties }]) => Object(Properties["SubnetIds"]).length);
  expect(zonesOf(synthesised())).toEqual([1, 1, 1, 1]);
  expect(zonesOf(synthesised({ highlyAvailable: true }))).toEqual([2, 2, 2, 2]);
});

test("endpoints of unused targets may be left out", () => {
  const without = synthesised({ endpoints: "sqs,secretsmanager", lifecycleEvents: "none" });
  expect(servicesOf(without)).toEqual(["secretsmanager", "sqs"]);
});

test("endpoints that Carillon needs cannot be left out, nor the one for events of jobs that are on", () => {
  expect(() => synthesised({ endpoints: "none" })).toThrow(
    "endpoints: sqs and secretsmanager cannot be left out",
  );
  expect(() => synthesised({ endpoints: ["sqs", "events", "lambda"] })).toThrow(
    "secretsmanager cannot be left out",
  );
  expect(() => synthesised({ endpoints: "sqs,secretsmanager" })).toThrow("set lifecycleEvents to none");
  expect(() => synthesised({ endpoints: "sqs,kms" })).toThrow(
    "carillon:endpoints: it takes some of sqs, events, lambda, secretsmanager, dynamodb, s3",
  );
});

describe("endpoints of dynamodb and s3", () => {
  const asked = { endpoints: "sqs,events,lambda,secretsmanager,dynamodb,s3" };
  const gatewaysOf = (stack: Synthesised) =>
    stack
      .ofType("AWS::EC2::VPCEndpoint")
      .map(([, { Properties }]) => Properties)
      .filter(({ VpcEndpointType }) => VpcEndpointType === "Gateway");

  test("Endpoints of dynamodb and s3 are gateways in each route table, which the functions reach by HTTPS", () => {
    const stack = synthesised(asked);
    const gateways = gatewaysOf(stack);
    expect(gateways.map(({ ServiceName }) => JSON.stringify(ServiceName))).toEqual([
      expect.stringContaining(".dynamodb"),
      expect.stringContaining(".s3"),
    ]);
    for (const { RouteTableIds } of gateways) expect(RouteTableIds).toHaveLength(2);
    stack.template.hasResourceProperties("AWS::EC2::SecurityGroupEgress", {
      CidrIp: "0.0.0.0/0",
      FromPort: 443,
      ToPort: 443,
    });
    expect(servicesOf(stack)).toHaveLength(6);
  });

  test("A gateway that handlers use leads to their own account, and the one to s3 to the archive as well", () => {
    const [dynamodb, s3] = gatewaysOf(synthesised({ ...asked, archiveBucket: "orders-ledger" }));
    expect(statementsOf(dynamodb)).toEqual([withinAccounts()]);
    expect(statementsOf(s3)).toEqual([withinAccounts(), named("s3:PutObject", expect.anything())]);
    expect(JSON.stringify(statementsOf(s3)[1])).toContain(":s3:::orders-ledger/");
  });

  test("Gateways of dynamodb and s3 are refused in an existing VPC, whose route tables are not known", () => {
    expect(() => synthesised({ ...brought, endpoints: "dynamodb" })).toThrow(
      "endpoints: dynamodb cannot be made in an existing VPC",
    );
  });
});

describe("the policies of endpoints", () => {
  const policies = (settings: Record<string, unknown>) =>
    Object.fromEntries(
      synthesised(settings)
        .ofType("AWS::EC2::VPCEndpoint")
        .map(([id, { Properties }]) => [id.replace(/^Network|[0-9A-F]{8}$/g, ""), statementsOf(Properties)]),
    );

  test("By default an endpoint admits roles of its own account alone, to resources of that account and to targets", () => {
    const made = policies({});
    expect(made).toEqual({
      Sqs: [withinAccounts(), named(["sqs:GetQueueUrl", "sqs:SendMessage"], expect.anything())],
      EventBridge: [withinAccounts(), named("events:PutEvents", expect.anything())],
      Lambda: [withinAccounts(), named("lambda:InvokeFunction", expect.anything())],
      SecretsManager: [withinAccounts()],
    });
    expect(JSON.stringify(made["Sqs"])).toContain(":carillon-target-*");
  });

  test("Targets that the allow-lists name in other accounts are reached, and no other resource there", () => {
    const elsewhere = "eu-central-1:999999999999";
    const targetQueueArns = [`arn:aws:sqs:${elsewhere}:mail`];
    const targetBusArns = [`arn:aws:events:${elsewhere}:event-bus/orders`];
    const targetFunctionArns = [`arn:aws:lambda:${elsewhere}:function:resize`];
    expect(policies({ targetQueueArns, targetBusArns, targetFunctionArns })).toMatchObject({
      Sqs: [withinAccounts(), named(["sqs:GetQueueUrl", "sqs:SendMessage"], targetQueueArns[0])],
      EventBridge: [withinAccounts(), named("events:PutEvents", targetBusArns[0])],
      Lambda: [
        withinAccounts(),
        named("lambda:InvokeFunction", [targetFunctionArns[0], `${targetFunctionArns[0]}:*`]),
      ],
    });
  });

  test("resourceAccounts opens all endpoints to the resources of these accounts, and to no role there", () => {
    const made = policies({ resourceAccounts: "210987654321" });
    for (const [statement] of Object.values(made)) expect(statement).toEqual(withinAccounts("210987654321"));
    expect(() => synthesised({ resourceAccounts: "2109" })).toThrow(
      "carillon:resourceAccounts: it takes ids",
    );
  });

  test("The secret of an existing database is reached in any account", () => {
    const databaseSecretArn = "arn:aws:secretsmanager:eu-central-1:999999999999:secret:orders/master-AbCdEf";
    const made = policies({
      ...brought,
      endpoints: "secretsmanager",
      database: "existing",
      databaseHost: "orders.example.com",
      databaseSecretArn,
      databaseInstanceId: "orders",
      databaseResourceId: "db-ABCDEFGHIJKLMNOPQRSTUVWXYZ",
      databaseSecurityGroupId: "sg-0123456789abcdef0",
      databaseMaxConnections: 400,
    });
    expect(made["SecretsManager"]?.[1]).toEqual(
      named(["secretsmanager:DescribeSecret", "secretsmanager:GetSecretValue"], databaseSecretArn),
    );
  });
});

test("an existing VPC is described by its attributes: everything uses its subnets, and no part of it is made", () => {
  const stack = synthesised(brought);
  for (const type of ["VPC", "Subnet", "RouteTable", "VPCEndpoint"]) {
    stack.template.resourceCountIs(`AWS::EC2::${type}`, 0);
  }
  const functions = stack
    .ofType("AWS::Lambda::Function")
    .filter(([, { Properties }]) => "VpcConfig" in Properties);
  expect(functions).toHaveLength(6);
  for (const [, { Properties }] of functions) {
    expect(Object(Properties["VpcConfig"]).SubnetIds).toEqual(subnetIds);
  }
  stack.template.hasResourceProperties("AWS::RDS::DBSubnetGroup", { SubnetIds: subnetIds });
  for (const [, { Properties }] of stack.ofType("AWS::EC2::SecurityGroup")) {
    expect(Properties["VpcId"]).toBe(brought.vpcId);
  }
});

test("in an existing VPC, functions may reach any address by HTTPS, unless all endpoints are made: then only the endpoints", () => {
  const toAnywhere = (stack: Synthesised) =>
    stack
      .ofType("AWS::EC2::SecurityGroupEgress")
      .map(([, { Properties }]) => Properties)
      .filter((rule) => "CidrIp" in rule);
  expect(toAnywhere(synthesised(brought))).toEqual([
    expect.objectContaining({ CidrIp: "0.0.0.0/0", IpProtocol: "tcp", FromPort: 443, ToPort: 443 }),
  ]);
  const closed = synthesised({ ...brought, endpoints: "sqs,events,lambda,secretsmanager" });
  expect(toAnywhere(closed)).toEqual([]);
  expect(servicesOf(closed)).toHaveLength(4);
  expect(servicesOf(synthesised({ ...brought, endpoints: "sqs" }))).toEqual(["sqs"]);
});

test("an incomplete description of a VPC is refused", () => {
  const { vpcId, vpcSubnetIds, vpcAvailabilityZones } = brought;
  const twoZones = "it needs vpcSubnetIds in at least two zones";
  expect(() => synthesised({ vpcId })).toThrow(twoZones);
  expect(() => synthesised({ ...brought, vpcAvailabilityZones: "eu-central-1a,eu-central-1a" })).toThrow(
    twoZones,
  );
  expect(() => synthesised({ ...brought, vpcSubnetIds: subnetIds[0] })).toThrow(twoZones);
  expect(() => synthesised({ vpcSubnetIds, vpcAvailabilityZones })).toThrow("give its id as vpcId");
  expect(() => synthesised({ ...brought, vpcId: "mine" })).toThrow(
    "carillon:vpcId: it takes the id of a VPC",
  );
});

test("the new network is in the zones that are named, two or more, and else in the first two of the region", () => {
  const zonesOf = (vpcAvailabilityZones?: string) =>
    synthesised(vpcAvailabilityZones === undefined ? {} : { vpcAvailabilityZones })
      .ofType("AWS::EC2::Subnet")
      .map(([, { Properties }]) => Properties["AvailabilityZone"]);
  expect(zonesOf("us-east-1b,us-east-1d,us-east-1f")).toEqual(["us-east-1b", "us-east-1d", "us-east-1f"]);
  expect(zonesOf()).toEqual([0, 1].map((n) => ({ "Fn::Select": [n, { "Fn::GetAZs": "" }] })));
  expect(() => zonesOf("us-east-1b")).toThrow("vpcAvailabilityZones: RDS needs two zones or more");
});

test("an app may pass its VPC in code, but not together with an id", () => {
  const stack = new Stack(new App({ context: { "aws:cdk:bundling-stacks": [] } }), "Theirs");
  const vpc = new Vpc(stack, "Vpc", { maxAzs: 2 });
  // The class and its interface differ in whether an absent property may be undefined.
  const theirs = Vpc.fromVpcAttributes(stack, "Same", {
    vpcId: vpc.vpcId,
    availabilityZones: vpc.availabilityZones,
    privateSubnetIds: vpc.privateSubnets.map(({ subnetId }) => subnetId),
  });
  new Carillon(stack, "Carillon", { vpc: theirs });
  const template = Template.fromStack(stack);
  template.resourceCountIs("AWS::EC2::VPC", 1);
  template.resourceCountIs("AWS::EC2::VPCEndpoint", 0);
  template.hasResourceProperties("AWS::RDS::DBSubnetGroup", {
    SubnetIds: vpc.privateSubnets.map(({ subnetId }) => stack.resolve(subnetId)),
  });
  const { vpcId } = brought;
  expect(() => new Carillon(stack, "Twice", { vpc: theirs, vpcId })).toThrow("give only one of the two");
  const vpcOfOneZone = Vpc.fromVpcAttributes(stack, "OneZone", {
    vpcId: vpc.vpcId,
    availabilityZones: ["eu-central-1a"],
    privateSubnetIds: ["subnet-0123456789abcdef0"],
  });
  expect(() => new Carillon(stack, "InOneZone", { vpc: vpcOfOneZone })).toThrow("are in one zone");
});
