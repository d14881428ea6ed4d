import { Aws, Duration } from "aws-cdk-lib";
import {
  CfnRoute,
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
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import { Construct } from "constructs";
import { apiPaths } from "../../lib/config/api-paths.ts";
import type { ApiSettings } from "../settings/api.ts";
import { acknowledge } from "../watch/acknowledge.ts";
import {
  type ApiGateway,
  type ApiGatewayProps,
  accessLogFormat,
  accessLogs,
  executeArnOf,
  tokensAreAskedBelow,
} from "./api-gateway.ts";

/** An HTTP API, the default: cheaper and faster than a REST API. */
export class HttpGateway extends Construct implements ApiGateway {
  readonly apiId: string;
  readonly stageName = "$default";
  readonly executeArn: string;
  readonly url: string;
  readonly serverErrors: IMetric;

  constructor(scope: Construct, id: string, props: ApiGatewayProps) {
    super(scope, id);
    const { settings, logRetention } = props;
    const api = new HttpApi(this, "Api", {
      description: "Carillon",
      createDefaultStage: false,
      disableExecuteApiEndpoint: settings.apiDomainName !== undefined,
    });
    addRoutes(api, props);
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
    this.executeArn = executeArnOf(this, this.apiId, this.stageName);
    // The API's own endpoint attribute cannot be read when the endpoint is disabled, as it is with
    // a domain name.
    this.url = `https://${api.apiId}.execute-api.${Aws.REGION}.${Aws.URL_SUFFIX}`;
    this.serverErrors = api.metricServerError({ period: Duration.minutes(1), statistic: "Sum" });
  }
}

function addRoutes(httpApi: HttpApi, { fn, page, settings }: ApiGatewayProps): void {
  const integration = new HttpLambdaIntegration("Function", fn, { scopePermissionToRoute: false });
  const authorizer = authorizerOf(settings);
  if (authorizer === undefined) {
    new HttpRoute(httpApi, "Every", { httpApi, integration, routeKey: HttpRouteKey.DEFAULT });
    if (page !== undefined) addPage(httpApi, page, integration);
    return;
  }
  const add = (path: string, method: HttpMethod, open?: "open") =>
    httpApi.addRoutes({ path, methods: [method], integration, ...(open ? {} : { authorizer }) });
  const every = add(everyPath, HttpMethod.ANY);
  // Health probes and the browsers' preflight requests carry no signature.
  add(ofApi.health, HttpMethod.GET, "open");
  const preflights = settings.apiCorsOrigins.length > 0;
  if (preflights) add(everyPath, HttpMethod.OPTIONS, "open");
  if (page === undefined) return;
  const longer = [
    ...add(ofApi.root, HttpMethod.ANY),
    ...add(ofApi.below, HttpMethod.ANY),
    ...add(ofApi.health, HttpMethod.ANY, "open"),
    // The route for preflight requests of every path has a shorter path than the one that needs a JWT.
    ...(preflights ? add(ofApi.below, HttpMethod.OPTIONS, "open") : []),
  ];
  const roots = httpApi.addRoutes({ path: "/", integration: toPage(page) });
  for (const root of roots) {
    root.node.addDependency(...longer);
    for (const route of every) turn(route, root, longer);
  }
}

const everyPath = "/{proxy+}";
const ofApi = {
  root: `/${apiPaths.versioned}`,
  below: `/${apiPaths.versioned}/{proxy+}`,
  health: `/${apiPaths.health}`,
} as const;

/**
 * The routes have every method, so that paths alone decide: API Gateway takes the longer path, but
 * does not say whether a path with its method precedes a longer one with any method.
 */
function addPage(httpApi: HttpApi, page: IFunction, toApi: HttpLambdaIntegration): void {
  const longer = Object.values(ofApi).flatMap((path) => httpApi.addRoutes({ path, integration: toApi }));
  const integration = toPage(page);
  // Made after the API's routes and deleted before them: otherwise the page would answer the API's
  // requests for some seconds of a deployment.
  for (const path of ["/", everyPath])
    for (const route of httpApi.addRoutes({ path, integration })) route.node.addDependency(...longer);
}

function toPage(page: IFunction): HttpLambdaIntegration {
  return new HttpLambdaIntegration("Page", page, { scopePermissionToRoute: false });
}

/**
 * Turns a route to the target of another one, without an authorizer, once the longer routes are
 * there. An API has one route for a path and a method, so the page takes over the one that all
 * paths have without it. That route keeps its logical id, so it is changed in place.
 */
function turn(route: HttpRoute, like: HttpRoute, longer: readonly HttpRoute[]): void {
  const [own, other] = [route.node.defaultChild, like.node.defaultChild];
  if (!(own instanceof CfnRoute && other instanceof CfnRoute))
    throw new Error("The routes of this CDK have another form: infra/api/http-gateway.ts has to follow it.");
  own.target = other.target;
  own.authorizationType = "NONE";
  own.authorizerId = undefined;
  own.node.addDependency(...longer);
}

function authorizerOf(settings: ApiSettings): IHttpRouteAuthorizer | undefined {
  const { apiAuth, apiJwtIssuer, apiJwtAudience } = settings;
  if (apiAuth === "iam") return new HttpIamAuthorizer();
  if (apiAuth === "jwt" && apiJwtIssuer !== undefined)
    return new HttpJwtAuthorizer("Jwt", apiJwtIssuer, { jwtAudience: apiJwtAudience });
  return undefined;
}
