import { Annotations, Duration, Token } from "aws-cdk-lib";
import type { IMetric } from "aws-cdk-lib/aws-cloudwatch";
import { Grant, type IGrantable } from "aws-cdk-lib/aws-iam";
import type { RetentionDays } from "aws-cdk-lib/aws-logs";
import { Construct } from "constructs";
import { functionTimeoutSeconds } from "../../lib/config/function-limits.ts";
import type { Database } from "../database/database.ts";
import { CarillonFunction } from "../functions/carillon-function.ts";
import type { FunctionCode } from "../functions/function-code.ts";
import type { Page } from "../functions/page.ts";
import type { TargetAllowList } from "../functions/target-allow-list.ts";
import type { WebhookSender } from "../functions/webhook-sender.ts";
import type { Network } from "../network/network.ts";
import type { JobQueue } from "../queues/job-queue.ts";
import type { Settings } from "../settings.ts";
import { checkApi } from "./api-checks.ts";
import { ApiDomain } from "./api-domain.ts";
import type { ApiGateway } from "./api-gateway.ts";
import { HttpGateway } from "./http-gateway.ts";
import { RestGateway } from "./rest-gateway.ts";

export interface ApiProps {
  readonly network: Network;
  readonly database: Database;
  readonly queues: readonly JobQueue[];
  readonly targets: TargetAllowList;
  readonly webhooks: WebhookSender;
  /** Undefined: no page. */
  readonly page: Page | undefined;
  readonly settings: Settings;
  readonly logRetention: RetentionDays;
  readonly code: FunctionCode;
}

/**
 * An HTTP API gives up after 30 s. The function's own timeout comes a second earlier, because its
 * error says more. A REST API gives up after 29 s.
 */
const TIMEOUT = Duration.seconds(functionTimeoutSeconds.api);

/**
 * The only public part: HTTPS, the paths of the API to one function, which answers 401 to requests
 * without a token, and all other paths to the page.
 */
export class Api extends Construct {
  readonly url: string;
  /**
   * The name that a DNS record for the API's domain must point to. Undefined: there is no domain,
   * or its record is made here.
   */
  readonly domainTarget: string | undefined;
  /** Requests answered with 5xx, per minute. */
  readonly serverErrors: IMetric;
  readonly fn: CarillonFunction;
  private readonly settings: Settings;
  private readonly executeArn: string;

  constructor(scope: Construct, id: string, props: ApiProps) {
    super(scope, id);
    const { settings, logRetention } = props;
    checkApi(settings);
    this.settings = settings;

    const fn = new CarillonFunction(this, "Function", {
      entry: "api",
      code: props.code,
      description: "Carillon: the HTTP API",
      network: props.network,
      timeout: TIMEOUT,
      memoryMiB: 1_024,
      logRetention,
    });
    this.fn = fn;
    props.database.admit(fn, "carillon_api");
    for (const queue of props.queues) queue.admitSender(fn);
    props.targets.tell(fn);
    props.webhooks.tell(fn);
    props.webhooks.admitSender(fn);
    for (const [name, value] of Object.entries(callerVariables(settings))) fn.addEnvironment(name, value);

    const behind = { fn, page: props.page?.fn, settings, logRetention };
    const gateway =
      settings.apiKind === "rest"
        ? new RestGateway(this, "Rest", behind)
        : new HttpGateway(this, "Http", behind);
    const domain = domainOf(this, gateway, settings);
    this.url = domain?.url ?? gateway.url;
    this.domainTarget = settings.apiHostedZoneId === undefined ? domain?.target : undefined;
    this.serverErrors = gateway.serverErrors;
    this.executeArn = gateway.executeArn;
  }

  grantInvoke(grantee: IGrantable): Grant {
    const { apiAuth, apiPrincipals } = this.settings;
    if (apiAuth !== "iam")
      throw new Error(
        `grantInvokeApi: apiAuth is ${apiAuth}, so the API asks for no rights of IAM and the grant would have no effect; set apiAuth to iam, or give the caller a ${apiAuth === "jwt" ? "JWT" : "token"}`,
      );
    const grant = Grant.addToPrincipal({
      grantee,
      actions: ["execute-api:Invoke"],
      resourceArns: [this.executeArn],
    });
    if (grant.success && !mayBeNamed(grantee, apiPrincipals))
      Annotations.of(this).addWarningV2(
        "carillon:principal-not-named",
        `${String(grantee)} may invoke the API, but no entry of apiPrincipals names it, so the API answers 403; add its ARN with a scope, such as \`\${role.roleArn} write\``,
      );
    return grant;
  }
}

/**
 * False only where no entry can match: ARNs that CloudFormation fills in later are compared by
 * their tokens, and an entry with a `*` may match any of these.
 */
function mayBeNamed({ grantPrincipal }: IGrantable, entries: readonly string[]): boolean {
  const { principalJson } = grantPrincipal.policyFragment;
  const arns = [principalJson["AWS"] ?? []].flat();
  const named = entries.map((entry) => entry.trim().split(/ +/)[0] ?? "");
  return arns.some((arn) =>
    named.some(
      (one) =>
        one === arn || (one.endsWith("*") && (Token.isUnresolved(arn) || arn.startsWith(one.slice(0, -1)))),
    ),
  );
}

/** The variables that tell the API's function how to authenticate and answer callers. */
function callerVariables(settings: Settings): Record<string, string> {
  const { apiAuth, apiCorsOrigins, apiJwtPrefixClaim, apiJwtPrefixEnd } = settings;
  const callers: Record<Settings["apiAuth"], Record<string, string>> = {
    token: {},
    iam: { API_PRINCIPALS: settings.apiPrincipals.join("\n") },
    jwt: {
      API_JWT_SCOPE_CLAIM: settings.apiJwtScopeClaim,
      API_JWT_SCOPE_PREFIX: settings.apiJwtScopePrefix,
      ...(apiJwtPrefixClaim === undefined ? {} : { API_JWT_PREFIX_CLAIM: apiJwtPrefixClaim }),
      ...(apiJwtPrefixEnd === undefined ? {} : { API_JWT_PREFIX_END: apiJwtPrefixEnd }),
    },
  };
  return {
    API_AUTH: apiAuth,
    ...callers[apiAuth],
    ...limitVariables(settings),
    ...(settings.apiRequireIfMatch ? { REQUIRE_IF_MATCH: "true" } : {}),
    ...(apiCorsOrigins.length === 0 ? {} : { API_CORS_ORIGINS: apiCorsOrigins.join(",") }),
  };
}

function limitVariables(settings: Settings): Record<string, string> {
  const { apiRatePerToken, apiRatePerPrefix, apiRequestsPerPrefix } = settings;
  return {
    ...(apiRatePerToken === undefined ? {} : { API_RATE: apiRatePerToken }),
    ...(apiRatePerPrefix.length === 0 ? {} : { API_RATE_PER_PREFIX: apiRatePerPrefix.join("\n") }),
    ...(apiRequestsPerPrefix === undefined ? {} : { API_REQUESTS_PER_PREFIX: String(apiRequestsPerPrefix) }),
  };
}

function domainOf(scope: Construct, gateway: ApiGateway, settings: Settings): ApiDomain | undefined {
  const {
    apiDomainName: name,
    apiCertificateArn: certificateArn,
    apiHostedZoneId: hostedZoneId,
    apiHostedZoneName: zoneName,
  } = settings;
  if (name === undefined || certificateArn === undefined) return undefined;
  const zone =
    hostedZoneId === undefined || zoneName === undefined ? {} : { zone: { hostedZoneId, zoneName } };
  return new ApiDomain(scope, "Domain", { gateway, name, certificateArn, ...zone });
}
