/** Types of resources that cost nothing by standing there, by the beginnings of their names; some are charged by use, which the workload counts. */
const free: readonly string[] = [
  // Rights and metadata.
  "AWS::CDK::",
  "AWS::IAM::",
  "AWS::Lambda::Permission",
  "AWS::Lambda::EventInvokeConfig",
  "AWS::SQS::QueuePolicy",
  "AWS::SecretsManager::ResourcePolicy",
  // A network pays for what stands in it and for public addresses, of which there are none.
  "AWS::EC2::VPC",
  "AWS::EC2::Subnet",
  "AWS::EC2::RouteTable",
  "AWS::EC2::SubnetRouteTableAssociation",
  "AWS::EC2::SecurityGroup",
  "AWS::RDS::DBSubnetGroup",
  "AWS::RDS::DBParameterGroup",
  "AWS::RDS::DBClusterParameterGroup",
  "AWS::RDS::DBProxyTargetGroup",
  // By use alone.
  "AWS::Lambda::Function",
  "AWS::Lambda::Version",
  "AWS::Lambda::Alias",
  "AWS::SQS::Queue",
  "AWS::Events::Rule",
  "AWS::Scheduler::Schedule",
  "AWS::Logs::LogGroup",
  "AWS::Logs::ResourcePolicy",
  "AWS::ApiGatewayV2::",
  "AWS::ApiGateway::",
  "AWS::WAFv2::WebACLAssociation",
  "AWS::Route53::RecordSet",
  "AWS::StepFunctions::StateMachine",
  "AWS::SNS::",
  "Custom::",
  "AWS::CloudFormation::CustomResource",
];

/** A beginning that ends in `::` takes everything in it; any other names one type, and the parts of one such as a group's rules. */
export function isFree(type: string): boolean {
  // "AWS::EC2::VPCEndpoint" begins as "AWS::EC2::VPC" does, and is not free.
  return free.some((name) =>
    name.endsWith("::") ? type.startsWith(name) : type === name || isRuleOf(type, name),
  );
}

function isRuleOf(type: string, name: string): boolean {
  return type === `${name}Ingress` || type === `${name}Egress`;
}
