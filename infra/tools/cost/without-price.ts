/**
 * Types of resources without a fixed cost, by the beginnings of their names. Some are billed by
 * use, which the workload counts.
 */
const free: readonly string[] = [
  // Rights and metadata.
  "AWS::CDK::",
  "AWS::IAM::",
  "AWS::Lambda::Permission",
  "AWS::Lambda::EventInvokeConfig",
  "AWS::SQS::QueuePolicy",
  "AWS::SecretsManager::ResourcePolicy",
  // A network itself is free. It would pay for NAT gateways and public addresses, and has neither.
  "AWS::EC2::VPC",
  "AWS::EC2::Subnet",
  "AWS::EC2::RouteTable",
  "AWS::EC2::SubnetRouteTableAssociation",
  "AWS::EC2::SecurityGroup",
  "AWS::RDS::DBSubnetGroup",
  "AWS::RDS::DBParameterGroup",
  "AWS::RDS::DBClusterParameterGroup",
  "AWS::RDS::DBProxyTargetGroup",
  // Billed by use only.
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

/**
 * A beginning that ends in `::` covers everything under it. Any other entry covers one type and its
 * parts, such as the rules of a group.
 */
export function isFree(type: string): boolean {
  // "AWS::EC2::VPCEndpoint" begins with "AWS::EC2::VPC", and is not free.
  return free.some((name) =>
    name.endsWith("::") ? type.startsWith(name) : type === name || isRuleOf(type, name),
  );
}

function isRuleOf(type: string, name: string): boolean {
  return type === `${name}Ingress` || type === `${name}Egress`;
}
