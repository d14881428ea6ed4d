import { Annotations, type IResolveContext, Lazy } from "aws-cdk-lib";
import {
  CfnSecurityGroup,
  CfnSecurityGroupEgress,
  InterfaceVpcEndpoint,
  type ISubnet,
  type IVpc,
  Port,
  SecurityGroup,
  type SubnetSelection,
  SubnetType,
  Vpc,
} from "aws-cdk-lib/aws-ec2";
import { Construct } from "constructs";
import { type ArchivePlace, archiveUse } from "../functions/archive-place.ts";
import { type GatewayName, gatewayNames, type InterfaceName, interfaceNames } from "../settings/network.ts";
import { acknowledge } from "../watch/acknowledge.ts";
import { type EndpointUse, endpointStatements, statementFor } from "./endpoint-policy.ts";
import { chosenEndpoints, type EndpointsWanted, gateways, interfaces } from "./endpoints.ts";

/** An address that no packet is sent to. */
const nothingOut = {
  ipProtocol: "icmp",
  fromPort: 252,
  toPort: 86,
  cidrIp: "255.255.255.255/32",
  description: "Nothing",
};

export interface NetworkProps extends Omit<EndpointsWanted, "ownNetwork"> {
  /** Whether functions that query run in a VPC. */
  readonly functionsInVpc: boolean;
  /** Whether the endpoints are in all zones. In one zone they cost half, and fail with it. */
  readonly highlyAvailable: boolean;
  /** An existing VPC, passed in code. Default: the one that `vpcId` names, else a new one. */
  readonly vpc?: IVpc | undefined;
  /** The subnets of that VPC to use, in two or more zones. Default: its private ones. */
  readonly subnets?: SubnetSelection | undefined;
  /** The id of the VPC to use. Default: a new network. */
  readonly vpcId?: string | undefined;
  /** The private subnets of that VPC, one for each zone. */
  readonly vpcSubnetIds: readonly string[];
  /** The zones of these subnets, in the same order. */
  readonly vpcAvailabilityZones: readonly string[];
  /** Where the archive is in S3. Default: no archive. */
  readonly archive?: ArchivePlace | undefined;
  /** Further accounts whose resources are reached through the endpoints. */
  readonly resourceAccounts: readonly string[];
  /** Named resources that are reached in any account, by the endpoint. */
  readonly uses: Readonly<Partial<Record<InterfaceName, EndpointUse>>>;
}

/** The part of a VPC where functions and the database run. */
export class Place {
  readonly vpc: IVpc;
  readonly subnets: SubnetSelection;
  /**
   * The security group of every function. This construct opens it to the endpoints, and the
   * database opens itself to the group.
   */
  readonly functions: SecurityGroup;
  private readonly scope: Construct;

  constructor(scope: Construct, vpc: IVpc, subnets: SubnetSelection) {
    this.scope = scope;
    this.vpc = vpc;
    this.subnets = subnets;
    this.functions = this.securityGroup("Functions", "Functions of Carillon");
  }

  /** A security group that allows no traffic in either direction until a rule is added. */
  securityGroup(id: string, description: string): SecurityGroup {
    const group = new SecurityGroup(this.scope, id, { vpc: this.vpc, description, allowAllOutbound: false });
    // Rules between two groups must be resources of their own, so that the group itself lists none;
    // EC2 then allows all outbound traffic. The dummy rule prevents that. Rules of the group itself,
    // such as those to a range of addresses, stay.
    const resource = group.node.defaultChild;
    if (!(resource instanceof CfnSecurityGroup)) return group;
    const own = resource.securityGroupEgress;
    resource.securityGroupEgress = Lazy.uncachedAny({
      produce: (context: IResolveContext) => {
        const rules: CfnSecurityGroup.EgressProperty[] = context.resolve(own) ?? [];
        // The CDK's own dummy is only there until the first rule.
        return [...rules.filter(({ cidrIp }) => cidrIp !== nothingOut.cidrIp), nothingOut];
      },
    });
    return group;
  }
}

/**
 * A network without a way in or out: isolated subnets, and an endpoint for each service that the
 * functions call. Each endpoint costs a fifth of a NAT gateway or nothing, and nothing in the network
 * can reach the internet. Alternatively an existing VPC with its own routes, or no VPC, where the
 * database is elsewhere too.
 */
export class Network extends Construct {
  /** Undefined: functions run outside of any VPC. */
  readonly place: Place | undefined;
  /** The gateways that functions lack for a way to their service. */
  readonly missingGateways: readonly GatewayName[] = [];

  constructor(scope: Construct, id: string, props: NetworkProps) {
    super(scope, id);

    const brought = this.brought(props);
    if (!props.functionsInVpc) {
      if (brought === undefined && props.endpoints === undefined) return;
      throw new Error(
        "functionsInVpc: with false there is no VPC and no endpoint; leave out vpcId, vpc and endpoints",
      );
    }
    const vpc = brought ?? this.isolatedVpc(props.vpcAvailabilityZones);
    const { subnets } = vpc.selectSubnets(
      brought === undefined ? { subnetType: SubnetType.PRIVATE_ISOLATED } : props.subnets,
    );
    if (new Set(subnets.map(({ availabilityZone }) => availabilityZone)).size < 2)
      throw new Error(
        "vpc: its subnets are in one zone, and RDS needs at least two; bring a VPC with maxAzs of 2 or more, or other subnets",
      );
    const place = new Place(this, vpc, { subnets });
    this.place = place;

    const chosen = chosenEndpoints({ ...props, ownNetwork: brought === undefined });
    if (brought === undefined)
      this.missingGateways = gatewayNames.filter((name) => !chosen.gateways.includes(name));
    this.makeGateways(vpc, chosen.gateways, props);
    if (brought === undefined && props.archive !== undefined && !chosen.gateways.includes("s3"))
      this.makeWayToArchive(vpc, props.archive);
    // Services without an endpoint made here are reached through the VPC's own endpoints or its NAT
    // gateway, at addresses that are not known here. The addresses behind a gateway endpoint are
    // not known either; without another route, HTTPS leads only there.
    const elsewhere = brought !== undefined && chosen.interfaces.length < interfaceNames.length;
    if (elsewhere || chosen.gateways.length > 0 || props.archive !== undefined) {
      // A rule of its own resource, because the group's own rule denies all outbound traffic.
      new CfnSecurityGroupEgress(this, "FunctionsToAws", {
        groupId: place.functions.securityGroupId,
        ipProtocol: "tcp",
        fromPort: 443,
        toPort: 443,
        cidrIp: "0.0.0.0/0",
        description: "Functions call AWS services",
      });
    }
    this.makeEndpoints(place, chosen.interfaces, {
      ...props,
      zones: props.highlyAvailable ? subnets : subnets.slice(0, 1),
    });
  }

  private brought(props: NetworkProps): IVpc | undefined {
    const { vpc, vpcId, vpcSubnetIds, vpcAvailabilityZones } = props;
    if (vpc !== undefined && vpcId !== undefined)
      throw new Error("vpcId: a VPC is already given as `vpc`; give only one of the two");
    if (vpcId === undefined) {
      if (vpcSubnetIds.length > 0)
        throw new Error("vpcSubnetIds are the subnets of a VPC; give its id as vpcId");
      if (vpc !== undefined && vpcAvailabilityZones.length > 0)
        throw new Error("vpcAvailabilityZones: a VPC is given as `vpc`; give its `subnets` instead");
      return vpc;
    }
    if (vpcSubnetIds.length !== vpcAvailabilityZones.length || new Set(vpcAvailabilityZones).size < 2) {
      throw new Error(
        "vpcId: it needs vpcSubnetIds in at least two zones, because RDS does, and vpcAvailabilityZones with the zone of each",
      );
    }
    // Route tables are only needed for gateways and gateway endpoints, and none is made here.
    Annotations.of(this).acknowledgeWarning("@aws-cdk/aws-ec2:noSubnetRouteTableId");
    return Vpc.fromVpcAttributes(this, "Vpc", {
      vpcId,
      availabilityZones: [...vpcAvailabilityZones],
      privateSubnetIds: [...vpcSubnetIds],
    });
  }

  private isolatedVpc(zones: readonly string[]): IVpc {
    // RDS requires two zones even for a single-zone instance.
    if (zones.length > 0 && new Set(zones).size < 2)
      throw new Error("vpcAvailabilityZones: RDS needs two zones or more; give another one");
    const vpc = new Vpc(this, "Vpc", {
      ...(zones.length > 0 ? { availabilityZones: [...zones] } : { maxAzs: 2 }),
      natGateways: 0,
      createInternetGateway: false,
      subnetConfiguration: [{ name: "isolated", subnetType: SubnetType.PRIVATE_ISOLATED, cidrMask: 22 }],
    });
    acknowledge(
      vpc,
      "VPC7",
      "Packets only go between functions, the database and endpoints of AWS; there is no other route. Flow logs are billed by the byte.",
    );
    // The class and its interface differ only in whether an absent property may be undefined, which
    // matters to the compiler alone.
    return vpc as IVpc;
  }

  private makeGateways(
    vpc: IVpc,
    chosen: readonly GatewayName[],
    { resourceAccounts: accounts, archive }: NetworkProps,
  ): void {
    const archiving = archive === undefined ? [] : [archiveUse(this, archive)];
    for (const name of chosen) {
      const endpoint = vpc.addGatewayEndpoint(gateways[name].id, { service: gateways[name].service });
      const uses = name === "s3" ? archiving : [];
      for (const each of endpointStatements(this, { accounts, uses })) endpoint.addToPolicy(each);
    }
  }

  /** The gateway to S3 if only the archive needs it: it takes the archive's objects, and nothing else. */
  private makeWayToArchive(vpc: IVpc, archive: ArchivePlace): void {
    vpc
      .addGatewayEndpoint(gateways.s3.id, { service: gateways.s3.service })
      .addToPolicy(statementFor(this, archiveUse(this, archive)));
  }

  private makeEndpoints(
    place: Place,
    chosen: readonly InterfaceName[],
    {
      zones,
      uses,
      resourceAccounts: accounts,
    }: { zones: ISubnet[] } & Pick<NetworkProps, "uses" | "resourceAccounts">,
  ): void {
    if (chosen.length === 0) return;
    const securityGroup = place.securityGroup("Endpoints", "Endpoints of AWS services that Carillon uses");
    securityGroup.addIngressRule(place.functions, Port.HTTPS, "Functions call AWS services");
    place.functions.addEgressRule(securityGroup, Port.HTTPS, "Functions call AWS services");
    for (const name of chosen) {
      const endpoint = new InterfaceVpcEndpoint(this, interfaces[name].id, {
        vpc: place.vpc,
        service: interfaces[name].service,
        subnets: { subnets: zones },
        securityGroups: [securityGroup],
        privateDnsEnabled: true,
        // The rule above names the functions; the default would admit the whole network.
        open: false,
      });
      const named = uses[name];
      const statements = endpointStatements(this, { accounts, uses: named === undefined ? [] : [named] });
      for (const each of statements) endpoint.addToPolicy(each);
    }
  }
}
