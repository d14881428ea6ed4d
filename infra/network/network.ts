import { Annotations } from "aws-cdk-lib";
import {
  CfnSecurityGroup,
  CfnSecurityGroupEgress,
  GatewayVpcEndpointAwsService,
  InterfaceVpcEndpoint,
  type ISubnet,
  type IVpc,
  Port,
  SecurityGroup,
  type SubnetSelection,
  SubnetType,
  Vpc,
} from "aws-cdk-lib/aws-ec2";
import { AnyPrincipal } from "aws-cdk-lib/aws-iam";
import { Construct } from "constructs";
import { type ArchivePlace, archiveStatement } from "../functions/archive-place.ts";
import { type EndpointName, endpointNames } from "../settings/network.ts";
import { acknowledge } from "../watch/acknowledge.ts";
import { chosenEndpoints, type EndpointsWanted, endpoints } from "./endpoints.ts";

/** An address that no packet goes to. */
const nothingOut = {
  IpProtocol: "icmp",
  FromPort: 252,
  ToPort: 86,
  CidrIp: "255.255.255.255/32",
  Description: "Nothing",
};

export interface NetworkProps extends Omit<EndpointsWanted, "ownNetwork"> {
  /** Whether functions that query stand in a VPC at all. */
  readonly functionsInVpc: boolean;
  /** Whether the endpoints stand in all zones; in one, they cost half and are gone when it is. */
  readonly highlyAvailable: boolean;
  /** A VPC that is brought along. Default: the one that `vpcId` names, else one of our own. */
  readonly vpc?: IVpc | undefined;
  /** Its subnets to stand in, in two or more zones. Default: its private ones. */
  readonly subnets?: SubnetSelection | undefined;
  /** The VPC to stand in, by its id. Default: a network of our own. */
  readonly vpcId?: string | undefined;
  /** The private subnets of that VPC, one for each zone. */
  readonly vpcSubnetIds: readonly string[];
  /** The zones of these subnets, in the same order. */
  readonly vpcAvailabilityZones: readonly string[];
  /** Where in S3 old days go. Default: nowhere. */
  readonly archive?: ArchivePlace | undefined;
}

/** Where in a VPC functions and the database stand. */
export class Place {
  readonly vpc: IVpc;
  readonly subnets: SubnetSelection;
  /** What every function belongs to. It reaches the endpoints here, and the database says itself whom it lets in. */
  readonly functions: SecurityGroup;
  private readonly scope: Construct;

  constructor(scope: Construct, vpc: IVpc, subnets: SubnetSelection) {
    this.scope = scope;
    this.vpc = vpc;
    this.subnets = subnets;
    this.functions = this.securityGroup("Functions", "Functions of Carillon");
  }

  /** A group that lets nothing in and nothing out until a rule says so. */
  securityGroup(id: string, description: string): SecurityGroup {
    const group = new SecurityGroup(this.scope, id, { vpc: this.vpc, description, allowAllOutbound: false });
    // With rules that stand apart from their group, as those between two groups must, the group itself would name none: then EC2 lets everything out.
    const resource = group.node.defaultChild;
    if (resource instanceof CfnSecurityGroup)
      resource.addPropertyOverride("SecurityGroupEgress", [nothingOut]);
    return group;
  }
}

/**
 * A network without a way in or out: isolated subnets, and an endpoint for each service that the functions talk to. Endpoints
 * cost a fifth of a NAT gateway each, and nothing in here can reach the internet. Or a VPC that is brought, with the ways that it has. Or
 * none, where even the database is elsewhere.
 */
export class Network extends Construct {
  /** None: functions stand outside of any VPC. */
  readonly place: Place | undefined;

  constructor(scope: Construct, id: string, props: NetworkProps) {
    super(scope, id);

    const brought = this.brought(props);
    if (!props.functionsInVpc) {
      if (brought === undefined && props.endpoints === undefined) return;
      throw new Error(
        "functionsInVpc: outside there is no VPC and no endpoint; leave out vpcId, vpc and endpoints",
      );
    }
    const vpc = brought ?? this.isolatedVpc();
    const { subnets } = vpc.selectSubnets(
      brought === undefined ? { subnetType: SubnetType.PRIVATE_ISOLATED } : props.subnets,
    );
    if (new Set(subnets.map(({ availabilityZone }) => availabilityZone)).size < 2)
      throw new Error(
        "vpc: its subnets lie in one zone, and RDS takes two at least; bring a VPC with maxAzs of 2 or more, or other subnets",
      );
    const place = new Place(this, vpc, { subnets });
    this.place = place;

    const chosen = chosenEndpoints({ ...props, ownNetwork: brought === undefined });
    if (brought === undefined && props.archive !== undefined) this.makeWayToArchive(vpc, props.archive);
    // What has no endpoint of ours is reached by those that the VPC has, or by its NAT gateway: we know the address of neither. Nor those of
    // S3, to which a gateway leads.
    const elsewhere = brought !== undefined && chosen.length < endpointNames.length;
    if (elsewhere || props.archive !== undefined) {
      // Apart from the group, whose own rule lets nothing out.
      new CfnSecurityGroupEgress(this, "FunctionsToAws", {
        groupId: place.functions.securityGroupId,
        ipProtocol: "tcp",
        fromPort: 443,
        toPort: 443,
        cidrIp: "0.0.0.0/0",
        description: "Functions call AWS services",
      });
    }
    this.makeEndpoints(place, chosen, props.highlyAvailable ? subnets : subnets.slice(0, 1));
  }

  private brought(props: NetworkProps): IVpc | undefined {
    const { vpc, vpcId, vpcSubnetIds, vpcAvailabilityZones } = props;
    if (vpc !== undefined && vpcId !== undefined)
      throw new Error("vpcId: a VPC is brought as `vpc` already; give one of the two");
    if (vpcId === undefined) {
      if (vpcSubnetIds.length + vpcAvailabilityZones.length > 0)
        throw new Error("vpcSubnetIds and vpcAvailabilityZones belong to a VPC; name it by vpcId");
      return vpc;
    }
    if (vpcSubnetIds.length !== vpcAvailabilityZones.length || new Set(vpcAvailabilityZones).size < 2) {
      throw new Error(
        "vpcId: it takes vpcSubnetIds in two zones at least, as RDS does, and vpcAvailabilityZones with the zone of each",
      );
    }
    // Its route tables are named only for gateways and their endpoints, of which none is made here.
    Annotations.of(this).acknowledgeWarning("@aws-cdk/aws-ec2:noSubnetRouteTableId");
    return Vpc.fromVpcAttributes(this, "Vpc", {
      vpcId,
      availabilityZones: [...vpcAvailabilityZones],
      privateSubnetIds: [...vpcSubnetIds],
    });
  }

  private isolatedVpc(): IVpc {
    const vpc = new Vpc(this, "Vpc", {
      // RDS wants two zones even for an instance that stands in one.
      maxAzs: 2,
      natGateways: 0,
      createInternetGateway: false,
      subnetConfiguration: [{ name: "isolated", subnetType: SubnetType.PRIVATE_ISOLATED, cidrMask: 22 }],
    });
    acknowledge(
      vpc,
      "VPC7",
      "Every packet is between a function and the database or an endpoint of AWS, there is no other way; each byte of a flow log is paid for.",
    );
    // The class and its interface differ in whether an absent property may be undefined, which nothing but the compiler sees.
    return vpc as IVpc;
  }

  /** A gateway is a route and costs nothing; through this one, whoever asks, S3 takes the archive's objects and does nothing else. */
  private makeWayToArchive(vpc: IVpc, archive: ArchivePlace): void {
    vpc
      .addGatewayEndpoint("S3", { service: GatewayVpcEndpointAwsService.S3 })
      .addToPolicy(archiveStatement(this, archive).copy({ principals: [new AnyPrincipal()] }));
  }

  private makeEndpoints(place: Place, chosen: readonly EndpointName[], subnets: ISubnet[]): void {
    if (chosen.length === 0) return;
    const securityGroup = place.securityGroup("Endpoints", "Endpoints of AWS services that Carillon uses");
    securityGroup.addIngressRule(place.functions, Port.HTTPS, "Functions call AWS services");
    place.functions.addEgressRule(securityGroup, Port.HTTPS, "Functions call AWS services");
    for (const name of chosen) {
      new InterfaceVpcEndpoint(this, endpoints[name].id, {
        vpc: place.vpc,
        service: endpoints[name].service,
        subnets: { subnets },
        securityGroups: [securityGroup],
        privateDnsEnabled: true,
        // The rule above names the functions; by default the whole network would be let in.
        open: false,
      });
    }
  }
}
