import { CfnApiMapping, DomainName, EndpointType, SecurityPolicy } from "aws-cdk-lib/aws-apigatewayv2";
import { Certificate } from "aws-cdk-lib/aws-certificatemanager";
import { ARecord, HostedZone, RecordTarget } from "aws-cdk-lib/aws-route53";
import { ApiGatewayv2DomainProperties } from "aws-cdk-lib/aws-route53-targets";
import { Construct } from "constructs";
import type { ApiGateway } from "./api-gateway.ts";

export interface ApiDomainProps {
  readonly gateway: ApiGateway;
  readonly name: string;
  readonly certificateArn: string;
  /** The hosted zone that gets the record. Default: the record is made elsewhere. */
  readonly zone?: { readonly hostedZoneId: string; readonly zoneName: string };
}

/** A custom domain name for an API of either kind. */
export class ApiDomain extends Construct {
  readonly url: string;
  /** The name that a DNS record for the domain must point to. */
  readonly target: string;

  constructor(scope: Construct, id: string, { gateway, name, certificateArn, zone }: ApiDomainProps) {
    super(scope, id);
    const domain = new DomainName(this, "Name", {
      domainName: name,
      certificate: Certificate.fromCertificateArn(this, "Certificate", certificateArn),
      endpointType: EndpointType.REGIONAL,
      securityPolicy: SecurityPolicy.TLS_1_2,
    });
    const mapping = new CfnApiMapping(this, "Mapping", {
      apiId: gateway.apiId,
      domainName: domain.name,
      stage: gateway.stageName,
    });
    mapping.node.addDependency(gateway);
    if (zone !== undefined)
      new ARecord(this, "Record", {
        zone: HostedZone.fromHostedZoneAttributes(this, "Zone", zone),
        recordName: `${name}.`,
        target: RecordTarget.fromAlias(
          new ApiGatewayv2DomainProperties(domain.regionalDomainName, domain.regionalHostedZoneId),
        ),
      });
    this.url = `https://${name}`;
    this.target = domain.regionalDomainName;
  }
}
