import { Aws, Duration, Names, Size, Stack } from "aws-cdk-lib";
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
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import { Construct } from "constructs";
import { apiPaths } from "../../lib/config/api-paths.ts";
import type { ApiSettings } from "../settings/api.ts";
import { acknowledge } from "../watch/acknowledge.ts";
import { ApiFirewall } from "./api-firewall.ts";
import {
  type ApiGateway,
  type ApiGatewayProps,
  accessLogFormat,
  accessLogs,
  executeArnOf,
  tokensAreAskedBelow,
} from "./api-gateway.ts";

/** A REST API: more expensive, for deployments that need a firewall or keys with quotas. */
export class RestGateway extends Construct implements ApiGateway {
  readonly apiId: string;
  readonly stageName = "api";
  readonly executeArn: string;
  readonly url: string;
  readonly serverErrors: IMetric;

  constructor(scope: Construct, id: string, { fn, page, settings, logRetention }: ApiGatewayProps) {
    super(scope, id);
    const api = new RestApi(this, "Api", {
      // CloudWatch distinguishes REST APIs by name only.
      restApiName: `${Stack.of(this).stackName}-${Names.uniqueResourceName(this, {})}`,
      description: "Carillon",
      endpointTypes: [EndpointType.REGIONAL],
      // An account has one such role in each region, so making it replaces the existing one.
      cloudWatchRole: settings.apiMakesLogRole,
      disableExecuteApiEndpoint: settings.apiDomainName !== undefined,
      // The page sends texts to a REST API as they are, and the gateway compresses them.
      ...(page === undefined ? {} : { minCompressionSize: Size.kibibytes(1) }),
      deployOptions: {
        stageName: this.stageName,
        throttlingRateLimit: settings.apiRequestsPerSecond,
        throttlingBurstLimit: settings.apiRequestBurst,
        accessLogDestination: new LogGroupLogDestination(accessLogs(this, logRetention)),
        accessLogFormat,
      },
    });
    giveReasons(api);
    if (page === undefined) addMethods(api, toFunction(fn), settings);
    else addMethodsWithPage(api, toFunction(fn), toFunction(page));
    addKeys(api, settings);
    const { apiFirewall, apiWebAclArn, apiFirewallRequests } = settings;
    if (apiFirewall || apiWebAclArn !== undefined)
      new ApiFirewall(this, "Firewall", {
        stageArn: api.deploymentStage.stageArn,
        webAclArn: apiWebAclArn,
        requestsPerAddress: apiFirewallRequests,
      });

    this.apiId = api.restApiId;
    this.executeArn = executeArnOf(this, this.apiId, this.stageName);
    this.url = `https://${api.restApiId}.execute-api.${Aws.REGION}.${Aws.URL_SUFFIX}/${this.stageName}`;
    this.serverErrors = api.deploymentStage.metricServerError({
      period: Duration.minutes(1),
      statistic: "Sum",
    });
  }
}

function toFunction(fn: IFunction): LambdaIntegration {
  return new LambdaIntegration(fn, { scopePermissionToMethod: false });
}

function addMethods(api: RestApi, toApi: LambdaIntegration, settings: ApiSettings): void {
  const apiKeyRequired = settings.apiKeyNames.length > 0;
  const isSigned = settings.apiAuth === "iam";
  const guarded = {
    apiKeyRequired,
    authorizationType: isSigned ? AuthorizationType.IAM : AuthorizationType.NONE,
  };
  // The root needs the same methods as its proxy resource, which does not cover the root itself.
  const proxy = api.root.addProxy({ anyMethod: false });
  proxy.addMethod("ANY", toApi, guarded);
  if (!apiKeyRequired && !isSigned) return;
  // Health probes and the browsers' preflight requests carry neither a signature nor an API key.
  api.root.addResource(apiPaths.health).addMethod("GET", toApi);
  if (settings.apiCorsOrigins.length > 0) proxy.addMethod("OPTIONS", toApi);
}

/** There is a page only where requests need neither a signature nor an API key. */
function addMethodsWithPage(api: RestApi, toApi: LambdaIntegration, toPage: LambdaIntegration): void {
  const everyPathBelow = { anyMethod: false };
  // The proxy resource of the root adds its method to the root itself as well.
  api.root.addProxy(everyPathBelow).addMethod("ANY", toPage);
  const versioned = api.root.addResource(apiPaths.versioned);
  versioned.addMethod("ANY", toApi);
  versioned.addProxy(everyPathBelow).addMethod("ANY", toApi);
  api.root.addResource(apiPaths.health).addMethod("ANY", toApi);
}

/** The limits of the usage plan apply to each key separately. */
function addKeys(api: RestApi, settings: ApiSettings): void {
  const { apiKeyNames, apiKeyRequestsPerDay } = settings;
  if (apiKeyNames.length === 0) return;
  const plan = api.addUsagePlan("Plan", {
    description: "Carillon: limits of each API key",
    apiStages: [{ stage: api.deploymentStage }],
    throttle: {
      rateLimit: settings.apiKeyRequestsPerSecond ?? settings.apiRequestsPerSecond,
      burstLimit: settings.apiRequestBurst,
    },
    ...(apiKeyRequestsPerDay === undefined
      ? {}
      : { quota: { limit: apiKeyRequestsPerDay, period: Period.DAY } }),
  });
  // The name goes into the description: two keys of one name in an account would make a second
  // deployment fail.
  for (const name of apiKeyNames) plan.addApiKey(new ApiKey(api, `Key ${name}`, { description: name }));
}

function giveReasons(api: RestApi): void {
  for (const rule of ["APIG4", "COG4"]) acknowledge(api, rule, tokensAreAskedBelow);
  acknowledge(
    api,
    "APIG2",
    "The function checks every body and query itself, by the schemas that the OpenAPI document is made from; its errors name the faulty part.",
  );
  acknowledge(
    api,
    "APIG3",
    "The account decides on a firewall for its APIs and on the rules; the stage's ARN is enough to attach one.",
  );
  acknowledge(
    api,
    "APIG6",
    "Execution logs would contain headers, and so tokens. The access log has a line for each request, and the function its own.",
  );
  acknowledge(
    api,
    "IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs]",
    "It is the account's only role for API Gateway's logs, with AWS's own policy for it; apiMakesLogRole requests it.",
  );
}
