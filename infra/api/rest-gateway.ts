import { Aws, Duration, Names, Stack } from "aws-cdk-lib";
import {
  ApiKey,
  AuthorizationType,
  EndpointType,
  LambdaIntegration,
  LogGroupLogDestination,
  Period,
  RestApi,
} from "aws-cdk-lib/aws-apigateway";
import type { IMetric } from "aws-cdk-lib/aws-cloudwatch";
import { Construct } from "constructs";
import type { ApiSettings } from "../settings/api.ts";
import { acknowledge } from "../watch/acknowledge.ts";
import { ApiFirewall } from "./api-firewall.ts";
import {
  type ApiGateway,
  type ApiGatewayProps,
  accessLogFormat,
  accessLogs,
  tokensAreAskedBelow,
} from "./api-gateway.ts";

/** A REST API: dearer, for whoever wants a firewall before it or keys with a quota. */
export class RestGateway extends Construct implements ApiGateway {
  readonly apiId: string;
  readonly stageName = "api";
  readonly url: string;
  readonly serverErrors: IMetric;

  constructor(scope: Construct, id: string, { fn, settings, logRetention }: ApiGatewayProps) {
    super(scope, id);
    const api = new RestApi(this, "Api", {
      // CloudWatch tells REST APIs apart by their names alone.
      restApiName: `${Stack.of(this).stackName}-${Names.uniqueResourceName(this, {})}`,
      description: "Carillon",
      endpointTypes: [EndpointType.REGIONAL],
      // There is one such role in an account and region: to make it takes the place of whatever was there.
      cloudWatchRole: settings.apiMakesLogRole,
      disableExecuteApiEndpoint: settings.apiDomainName !== undefined,
      deployOptions: {
        stageName: this.stageName,
        throttlingRateLimit: settings.apiRequestsPerSecond,
        throttlingBurstLimit: settings.apiRequestBurst,
        accessLogDestination: new LogGroupLogDestination(accessLogs(this, logRetention)),
        accessLogFormat,
      },
    });
    giveReasons(api);
    addMethods(api, new LambdaIntegration(fn, { scopePermissionToMethod: false }), settings);
    addKeys(api, settings);
    const { apiFirewall, apiWebAclArn, apiFirewallRequests } = settings;
    if (apiFirewall || apiWebAclArn !== undefined)
      new ApiFirewall(this, "Firewall", {
        stageArn: api.deploymentStage.stageArn,
        webAclArn: apiWebAclArn,
        requestsPerAddress: apiFirewallRequests,
      });

    this.apiId = api.restApiId;
    this.url = `https://${api.restApiId}.execute-api.${Aws.REGION}.${Aws.URL_SUFFIX}/${this.stageName}`;
    this.serverErrors = api.deploymentStage.metricServerError({
      period: Duration.minutes(1),
      statistic: "Sum",
    });
  }
}

function addMethods(api: RestApi, toFunction: LambdaIntegration, settings: ApiSettings): void {
  const apiKeyRequired = settings.apiKeyNames.length > 0;
  const isSigned = settings.apiAuth === "iam";
  const guarded = {
    apiKeyRequired,
    authorizationType: isSigned ? AuthorizationType.IAM : AuthorizationType.NONE,
  };
  // What a proxy of the root gets, the root gets as well.
  const proxy = api.root.addProxy({ anyMethod: false });
  proxy.addMethod("ANY", toFunction, guarded);
  if (!apiKeyRequired && !isSigned) return;
  // Whoever looks whether it answers has neither, and browsers send neither when they ask what they may.
  api.root.addResource("health").addMethod("GET", toFunction);
  if (settings.apiCorsOrigins.length > 0) proxy.addMethod("OPTIONS", toFunction);
}

/** Each key has the limits of the plan to itself. */
function addKeys(api: RestApi, settings: ApiSettings): void {
  const { apiKeyNames, apiKeyRequestsPerDay } = settings;
  if (apiKeyNames.length === 0) return;
  const plan = api.addUsagePlan("Plan", {
    description: "Carillon: what each API key may ask",
    apiStages: [{ stage: api.deploymentStage }],
    throttle: {
      rateLimit: settings.apiKeyRequestsPerSecond ?? settings.apiRequestsPerSecond,
      burstLimit: settings.apiRequestBurst,
    },
    ...(apiKeyRequestsPerDay === undefined
      ? {}
      : { quota: { limit: apiKeyRequestsPerDay, period: Period.DAY } }),
  });
  // By its description, since two keys of one name in an account would keep the second deployment out.
  for (const name of apiKeyNames) plan.addApiKey(new ApiKey(api, `Key ${name}`, { description: name }));
}

function giveReasons(api: RestApi): void {
  for (const rule of ["APIG4", "COG4"]) acknowledge(api, rule, tokensAreAskedBelow);
  acknowledge(
    api,
    "APIG2",
    "The function checks every body and query itself, by the schemas of which the OpenAPI document is made; what it refuses, it says where.",
  );
  acknowledge(
    api,
    "APIG3",
    "Which firewall stands before an API, and what it lets in, is the account's to say: it takes the stage's ARN.",
  );
  acknowledge(
    api,
    "APIG6",
    "Its logs of execution hold headers and with them tokens. The access log has a line for each request, and the function its own.",
  );
  acknowledge(
    api,
    "IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs]",
    "It is the account's one role by which API Gateway writes logs, and AWS's own policy for it; apiMakesLogRole asks for it.",
  );
}
