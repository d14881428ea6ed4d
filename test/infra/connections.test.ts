import { App, Stack } from "aws-cdk-lib";
import { Match, Template } from "aws-cdk-lib/assertions";
import { type IVpc, Peer, Port, SecurityGroup, Vpc } from "aws-cdk-lib/aws-ec2";
import { expect, test } from "vitest";
import { Carillon, type CarillonProps } from "../../infra/carillon.ts";

function setup(props: CarillonProps = {}) {
  const stack = new Stack(new App({ context: { "aws:cdk:bundling-stacks": [] } }), "Theirs");
  return { stack, carillon: new Carillon(stack, "Carillon", props) };
}

test("A rule to a range of addresses, which belongs to the functions' group itself, is in the template", () => {
  const { stack, carillon } = setup();
  carillon.connections.allowTo(Peer.ipv4("10.1.0.0/16"), Port.tcp(5432), "The orders");
  Template.fromStack(stack).hasResourceProperties("AWS::EC2::SecurityGroup", {
    GroupDescription: "Functions of Carillon",
    SecurityGroupEgress: Match.arrayWith([Match.objectLike({ CidrIp: "10.1.0.0/16", FromPort: 5432 })]),
  });
});

test("A rule to a group is in the template, also to an imported one that is not changed itself", () => {
  const { stack, carillon } = setup();
  // The class and its interface differ in whether an absent property may be undefined.
  const own = new SecurityGroup(stack, "Own", { vpc: new Vpc(stack, "Vpc") as IVpc });
  const imported = SecurityGroup.fromSecurityGroupId(stack, "Imported", "sg-0123456789abcdef0", {
    mutable: false,
  });
  carillon.connections.allowTo(own, Port.tcp(5432));
  carillon.connections.allowTo(imported, Port.tcp(6379));
  const template = Template.fromStack(stack);
  template.hasResourceProperties("AWS::EC2::SecurityGroupIngress", { FromPort: 5432 });
  for (const FromPort of [5432, 6379])
    template.hasResourceProperties("AWS::EC2::SecurityGroupEgress", { FromPort });
});

test("A group without a rule of its own lists one that lets nothing out", () => {
  const { stack } = setup();
  for (const { Properties } of Object.values(
    Template.fromStack(stack).findResources("AWS::EC2::SecurityGroup"),
  ))
    expect(Properties["SecurityGroupEgress"]).toMatchObject([{ CidrIp: "255.255.255.255/32" }]);
});

test("Connections of functions outside of any VPC are refused, because no rule could apply to them", () => {
  const { carillon } = setup({
    database: "external",
    databaseHost: "db.example.com",
    databaseName: "shop",
    databaseSecretArn: "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop-AbCdEf",
    databaseMaxConnections: 200,
    functionsInVpc: false,
  });
  expect(() => carillon.connections.allowToAnyIpv4(Port.tcp(5432))).toThrow(
    "connections: functionsInVpc is false",
  );
});
