import type { TemplateParameter } from "../parameter.ts";

const group = "Network";

/** These are for an existing VPC. The other template makes a network of its own. */
export const networkParameters: readonly TemplateParameter[] = [
  {
    name: "VpcId",
    group,
    setting: "vpcId",
    description: "The VPC that the functions and the database run in.",
    type: "AWS::EC2::VPC::Id",
    values: { kind: "text", learned: ["vpc-0123456789abcdef0", "vpc-0fedcba9876543210"] },
  },
  // Two parameters and not a list, so that a rule can compare their zones.
  {
    name: "SubnetOne",
    group,
    setting: "vpcSubnetIds",
    description: "A private subnet of that VPC, from which AWS services can be reached.",
    type: "AWS::EC2::Subnet::Id",
    values: { kind: "text", learned: ["subnet-0123456789abcdef0", "subnet-0fedcba9876543210"] },
  },
  {
    name: "SubnetTwo",
    group,
    setting: "vpcSubnetIds",
    description: "A second private subnet, in another zone.",
    type: "AWS::EC2::Subnet::Id",
    values: { kind: "text", learned: ["subnet-0123456789abcdef1", "subnet-0fedcba9876543211"] },
  },
];

/** The zones of the subnets are in no resource: CloudFormation's rule compares the real ones. */
export const anyZones = "xx-none-1a,xx-none-1b";

const ofSubnets = (attribute: string) => ({ "Fn::ValueOfAll": ["AWS::EC2::Subnet::Id", attribute] });

/** The construct checks subnets at synth, and CloudFormation checks these rules before a deployment. */
export const networkRules = {
  SubnetsOfTheVpc: {
    Assertions: [
      {
        Assert: { "Fn::EachMemberIn": [ofSubnets("VpcId"), { "Fn::RefAll": "AWS::EC2::VPC::Id" }] },
        AssertDescription: "SubnetOne and SubnetTwo must be subnets of VpcId.",
      },
    ],
  },
  SubnetsInTwoZones: {
    Assertions: [
      {
        Assert: {
          "Fn::Not": [
            {
              "Fn::EachMemberEquals": [
                ofSubnets("AvailabilityZone"),
                { "Fn::ValueOf": ["SubnetOne", "AvailabilityZone"] },
              ],
            },
          ],
        },
        AssertDescription: "SubnetOne and SubnetTwo must be in two zones, because RDS needs two.",
      },
    ],
  },
};
