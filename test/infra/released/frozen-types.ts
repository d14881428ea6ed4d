/**
 * Types of resources that an upgrade must not replace, each with the reason. A type that appears in a
 * template is in this list or in that of the replaceable types.
 */
export const frozenTypes: Readonly<Record<string, string>> = {
  // These hold data, which is lost with them.
  "AWS::KMS::Key": "stored credentials open with no other key",
  "AWS::Logs::LogGroup": "its log lines are gone with it, and links lead to it by its name",
  "AWS::RDS::DBCluster": "all schedules and the ledger are in it",
  "AWS::RDS::DBInstance": "all schedules and the ledger are in it",
  "AWS::SQS::Queue": "its messages stay behind, and senders have its URL",
  "AWS::SecretsManager::Secret": "a new one holds another token or password",
  "Custom::CarillonSchedule": "its schedule is deleted and made again",

  // Callers, policies and routes outside of the stack name them.
  "AWS::ApiGateway::ApiKey": "callers have its value",
  "AWS::ApiGateway::RestApi": "callers have its address",
  "AWS::ApiGateway::Stage": "its name is part of the address",
  "AWS::ApiGateway::UsagePlan": "keys of callers are added to it",
  "AWS::ApiGatewayV2::Api": "callers have its address",
  "AWS::ApiGatewayV2::DomainName": "records of DNS point to it",
  "AWS::ApiGatewayV2::Stage": "its name is part of the address",
  "AWS::CloudWatch::Dashboard": "it is in bookmarks",
  "AWS::EC2::RouteTable": "routes of other stacks are added to it",
  "AWS::EC2::SecurityGroup": "rules of other security groups name it",
  "AWS::EC2::Subnet": "the database and the functions are in it",
  "AWS::EC2::VPC": "everything with an address of its own is in it, and peerings name it",
  "AWS::EC2::VPCEndpoint": "policies of other resources name it",
  "AWS::IAM::Role": "policies of other resources and other accounts name it",
  "AWS::Lambda::Function": "service tokens and links name it",
  "AWS::RDS::DBClusterParameterGroup": "the cluster uses it",
  "AWS::RDS::DBParameterGroup": "the instance uses it",
  "AWS::RDS::DBProxy": "its name is fixed, so a second one is refused",
  "AWS::RDS::DBSubnetGroup": "the database is in it",
  "AWS::WAFv2::WebACL": "its rules and counts are watched by its name",

  // A second one beside the first may be refused, or the deletion of the first one ends the effect of both.
  "AWS::ApiGateway::Account": "a region has one",
  "AWS::ApiGateway::Method": "a path has each method once",
  "AWS::ApiGateway::Resource": "an API has each path once",
  "AWS::ApiGateway::UsagePlanKey": "a plan has each key once",
  "AWS::ApiGatewayV2::ApiMapping": "a domain has each path once",
  "AWS::ApiGatewayV2::Authorizer": "an API has each name of an authorizer once",
  "AWS::ApiGatewayV2::Route": "an API has each route once",
  "AWS::EC2::SecurityGroupEgress": "a security group has each rule once",
  "AWS::EC2::SecurityGroupIngress": "a security group has each rule once",
  "AWS::EC2::SubnetRouteTableAssociation": "a subnet has one route table",
  "AWS::Lambda::EventInvokeConfig": "a function has one",
  "AWS::Lambda::EventSourceMapping": "a function has one for each queue",
  "AWS::RDS::DBProxyTargetGroup": "a proxy has one",
  "AWS::Route53::RecordSet": "a zone has each name once",
  "AWS::SQS::QueuePolicy": "a queue has one, and the deletion of the former one opens it",
  "AWS::WAFv2::WebACLAssociation": "an API has one, and the deletion of the former one leaves it unguarded",
  "Custom::CarillonMigration": "a second one migrates the database at the same time",
};

/** Types of resources that an upgrade may replace, each with the reason why users do not notice it. */
export const replaceableTypes: Readonly<Record<string, string>> = {
  "AWS::ApiGateway::Deployment": "each change of the API makes one, and the stage moves to it",
  "AWS::ApiGatewayV2::Integration": "routes move to the new one",
  "AWS::CloudWatch::Alarm": "the new one reads the same metric and tells the same topic",
  "AWS::Events::Rule": "two ticks of one minute do no harm",
  "AWS::IAM::Policy": "its rights are in a role, which keeps both until the former one goes",
  "AWS::Lambda::Permission": "a function keeps both until the former one goes",
  "AWS::Logs::MetricFilter": "it counts lines from now on, and both do for some seconds",
  "AWS::Scheduler::Schedule": "two ticks of one minute do no harm",
  "AWS::StepFunctions::StateMachine": "it runs only while the migration does",
};
