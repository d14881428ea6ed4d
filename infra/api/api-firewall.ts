import { Names } from "aws-cdk-lib";
import { CfnWebACL, CfnWebACLAssociation } from "aws-cdk-lib/aws-wafv2";
import { Construct } from "constructs";

export interface ApiFirewallProps {
  readonly stageArn: string;
  /** A web ACL that is there already. Default: one is made here. */
  readonly webAclArn?: string | undefined;
  /** How many requests one address may send to the one that is made here, in five minutes. */
  readonly requestsPerAddress: number;
}

/** AWS WAF before a REST API; an HTTP API has no place for it. */
export class ApiFirewall extends Construct {
  constructor(scope: Construct, id: string, { stageArn, webAclArn, requestsPerAddress }: ApiFirewallProps) {
    super(scope, id);
    new CfnWebACLAssociation(this, "Association", {
      resourceArn: stageArn,
      webAclArn: webAclArn ?? this.webAcl(requestsPerAddress).attrArn,
    });
  }

  private webAcl(requestsPerAddress: number): CfnWebACL {
    return new CfnWebACL(this, "WebAcl", {
      description: "Carillon: what the API takes from whom",
      scope: "REGIONAL",
      defaultAction: { allow: {} },
      visibilityConfig: this.visibility("Requests"),
      rules: [
        {
          name: "RequestsPerAddress",
          priority: 0,
          action: { block: {} },
          statement: { rateBasedStatement: { aggregateKeyType: "IP", limit: requestsPerAddress } },
          visibilityConfig: this.visibility("RequestsPerAddress"),
        },
        this.managed(1, "AWSManagedRulesAmazonIpReputationList"),
        this.managed(2, "AWSManagedRulesKnownBadInputsRuleSet", inBodies),
        this.managed(3, "AWSManagedRulesCommonRuleSet", inCommonData),
      ],
    });
  }

  private managed(priority: number, name: string, counted: readonly string[] = []): CfnWebACL.RuleProperty {
    return {
      name,
      priority,
      overrideAction: { none: {} },
      statement: {
        managedRuleGroupStatement: {
          vendorName: "AWS",
          name,
          ruleActionOverrides: counted.map((rule) => ({ name: rule, actionToUse: { count: {} } })),
        },
      },
      visibilityConfig: this.visibility(name),
    };
  }

  private visibility(name: string): CfnWebACL.VisibilityConfigProperty {
    const metricName = `${Names.uniqueResourceName(this, { maxLength: 100 })}-${name}`;
    return { cloudWatchMetricsEnabled: true, metricName, sampledRequestsEnabled: false };
  }
}

// Bodies are data of callers, and payloads are of any kind: a template with script in it is none of the API's business, and a batch is
// larger than any body these rules let pass. They count what they find and stop nothing. So do those that stop keys and targets in paths
// and queries: with 255 characters of any script these are long once they are percent-encoded, and one may be called `nightly.log` or be
// an address. A name that a group does not know is passed over by AWS without a word.
const inBodies = ["JavaDeserializationRCE_BODY", "Log4JRCE_BODY", "ReactJSRCE_BODY"];
const inCommonData = [
  "SizeRestrictions_BODY",
  "EC2MetaDataSSRF_BODY",
  "GenericLFI_BODY",
  "GenericRFI_BODY",
  "CrossSiteScripting_BODY",
  "SizeRestrictions_URIPATH",
  "SizeRestrictions_QUERYSTRING",
  "RestrictedExtensions_URIPATH",
  "RestrictedExtensions_QUERYARGUMENTS",
  "GenericRFI_URIPATH",
  "GenericRFI_QUERYARGUMENTS",
];
