import { Names } from "aws-cdk-lib";
import { CfnWebACL, CfnWebACLAssociation } from "aws-cdk-lib/aws-wafv2";
import { Construct } from "constructs";

export interface ApiFirewallProps {
  readonly stageArn: string;
  /** An existing web ACL. Default: one is made here. */
  readonly webAclArn?: string | undefined;
  /** Requests that the web ACL made here allows from one address in five minutes. */
  readonly requestsPerAddress: number;
}

/** AWS WAF in front of a REST API; an HTTP API does not support it. */
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
      description: "Carillon: limits of requests to the API",
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

// The rules for bodies only count what they find. Bodies are callers' data: a payload may well be a
// template with script in it, and a batch is larger than any body that these rules let pass. The
// rules for paths and queries only count as well: keys and targets of 255 characters in any script
// are long once percent-encoded, and a key may look like `nightly.log` or an address. AWS ignores
// names that a rule group does not know, without an error.
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
