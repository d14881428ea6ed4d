import {
  CfnSecurityGroup,
  InterfaceVpcEndpoint,
  InterfaceVpcEndpointAwsService,
  type ISubnet,
  type IVpc,
  Port,
  SecurityGroup,
  type SubnetSelection,
  SubnetType,
  Vpc,
} from "aws-cdk-lib/aws-ec2";
import { Construct } from "constructs";

/** An address that no packet goes to. */
const nothingOut = {
  IpProtocol: "icmp",
  FromPort: 252,
  ToPort: 86,
  CidrIp: "255.255.255.255/32",
  Description: "Nothing",
};

export interface NetworkProps {
  /** Whether the endpoints stand in both zones; in one, they cost half and are gone when it is. */
  readonly highlyAvailable: boolean;
}

/**
 * A network without a way in or out: isolated subnets, and an endpoint for each service that the functions talk to. Endpoints
 * cost a third of a NAT gateway each, and nothing in here can reach the internet.
 */
export class Network extends Construct {
  readonly vpc: IVpc;
  readonly subnets: SubnetSelection = { subnetType: SubnetType.PRIVATE_ISOLATED };
  /** What every function belongs to. It reaches the endpoints here, and the database says itself whom it lets in. */
  readonly functions: SecurityGroup;

  constructor(scope: Construct, id: string, props: NetworkProps) {
    super(scope, id);

    const vpc = new Vpc(this, "Vpc", {
      // RDS wants two zones even for an instance that stands in one.
      maxAzs: 2,
      natGateways: 0,
      createInternetGateway: false,
      subnetConfiguration: [{ name: "isolated", subnetType: SubnetType.PRIVATE_ISOLATED, cidrMask: 22 }],
    });
    // The class and its interface differ in whether an absent property may be undefined, which nothing but the compiler sees.
    this.vpc = vpc as IVpc;
    this.functions = this.securityGroup("Functions", "Functions of Carillon");

    const endpoints = this.securityGroup("Endpoints", "Endpoints of AWS services that Carillon uses");
    endpoints.addIngressRule(this.functions, Port.HTTPS, "Functions call AWS services");
    this.functions.addEgressRule(endpoints, Port.HTTPS, "Functions call AWS services");

    const isolated = this.vpc.isolatedSubnets;
    const subnets = props.highlyAvailable ? isolated : isolated.slice(0, 1);
    this.endpoint("Sqs", InterfaceVpcEndpointAwsService.SQS, endpoints, subnets);
    this.endpoint("EventBridge", InterfaceVpcEndpointAwsService.EVENTBRIDGE, endpoints, subnets);
    this.endpoint("Lambda", InterfaceVpcEndpointAwsService.LAMBDA, endpoints, subnets);
    this.endpoint("SecretsManager", InterfaceVpcEndpointAwsService.SECRETS_MANAGER, endpoints, subnets);
  }

  /** A group that lets nothing in and nothing out until a rule says so. */
  securityGroup(id: string, description: string): SecurityGroup {
    const group = new SecurityGroup(this, id, { vpc: this.vpc, description, allowAllOutbound: false });
    // With rules that stand apart from their group, as those between two groups must, the group itself would name none: then EC2 lets everything out.
    const resource = group.node.defaultChild;
    if (resource instanceof CfnSecurityGroup)
      resource.addPropertyOverride("SecurityGroupEgress", [nothingOut]);
    return group;
  }

  private endpoint(
    id: string,
    service: InterfaceVpcEndpointAwsService,
    securityGroup: SecurityGroup,
    subnets: ISubnet[],
  ): void {
    new InterfaceVpcEndpoint(this, id, {
      vpc: this.vpc,
      service,
      subnets: { subnets },
      securityGroups: [securityGroup],
      privateDnsEnabled: true,
      // The rule above names the functions; by default the whole network would be let in.
      open: false,
    });
  }
}
