import { Aws, Duration } from "aws-cdk-lib";
import {
  HttpApi,
  HttpMethod,
  HttpRoute,
  HttpRouteKey,
  HttpStage,
  type IHttpRouteAuthorizer,
  LogGroupLogDestination,
} from "aws-cdk-lib/aws-apigatewayv2";
import { HttpIamAuthorizer, HttpJwtAuthorizer } from "aws-cdk-lib/aws-apigatewayv2-authorizers";
import { HttpLambdaIntegration } from "aws-cdk-lib/aws-apigatewayv2-integrations";
import type { IMetric } from "aws-cdk-lib/aws-cloudwatch";
import { Construct } from "constructs";
import type { ApiSettings } from "../settings/api.ts";
import { acknowledge } from "../watch/acknowledge.ts";
import {
  type ApiGateway,
  type ApiGatewayProps,
  accessLogFormat,
  accessLogs,
  tokensAreAskedBelow,
} from "./api-gateway.ts";

/** An HTTP API, the default: cheaper and faster than a REST API. */
export class HttpGateway extends Construct implements ApiGateway {
  readonly apiId: string;
  readonly stageName = "$default";
  readonly url: string;
  readonly serverErrors: IMetric;

  constructor(scope: Construct, id: string, { fn, settings, logRetention }: ApiGatewayProps) {
    super(scope, id);
    const api = new HttpApi(this, "Api", {
      description: "Carillon",
      createDefaultStage: false,
      disableExecuteApiEndpoint: settings.apiDomainName !== undefined,
    });
    addRoutes(api, new HttpLambdaIntegration("Function", fn, { scopePermissionToRoute: false }), settings);
    acknowledge(api, "APIG4", tokensAreAskedBelow);
    new HttpStage(this, "Stage", {
      httpApi: api,
      stageName: this.stageName,
      autoDeploy: true,
      throttle: { rateLimit: settings.apiRequestsPerSecond, burstLimit: settings.apiRequestBurst },
      accessLogSettings: {
        destination: new LogGroupLogDestination(accessLogs(this, logRetention)),
        format: accessLogFormat,
      },
    });
    this.apiId = api.apiId;
    // The API's own endpoint attribute cannot be read when the endpoint is disabled, as it is with
    // a domain name.
    this.url = `https://${api.apiId}.execute-api.${Aws.REGION}.${Aws.URL_SUFFIX}`;
    this.serverErrors = api.metricServerError({ period: Duration.minutes(1), statistic: "Sum" });
  }
}

function addRoutes(httpApi: HttpApi, integration: HttpLambdaIntegration, settings: ApiSettings): void {
  const authorizer = authorizerOf(settings);
  if (authorizer === undefined) {
    new HttpRoute(httpApi, "Every", { httpApi, integration, routeKey: HttpRouteKey.DEFAULT });
    return;
  }
  const add = (path: string, method: HttpMethod, open?: "open") =>
    httpApi.addRoutes({ path, methods: [method], integration, ...(open ? {} : { authorizer }) });
  add("/{proxy+}", HttpMethod.ANY);
  // Health probes and the browsers' preflight requests carry no signature.
  add("/health", HttpMethod.GET, "open");
  if (settings.apiCorsOrigins.length > 0) add("/{proxy+}", HttpMethod.OPTIONS, "open");
}

function authorizerOf(settings: ApiSettings): IHttpRouteAuthorizer | undefined {
  const { apiAuth, apiJwtIssuer, apiJwtAudience } = settings;
  if (apiAuth === "iam") return new HttpIamAuthorizer();
  if (apiAuth === "jwt" && apiJwtIssuer !== undefined)
    return new HttpJwtAuthorizer("Jwt", apiJwtIssuer, { jwtAudience: apiJwtAudience });
  return undefined;
}
