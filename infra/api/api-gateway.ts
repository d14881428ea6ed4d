import { Aws, Names, RemovalPolicy, Stack } from "aws-cdk-lib";
import { AccessLogFormat } from "aws-cdk-lib/aws-apigateway";
import type { IMetric } from "aws-cdk-lib/aws-cloudwatch";
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import { LogGroup, type RetentionDays } from "aws-cdk-lib/aws-logs";
import type { Construct, IConstruct } from "constructs";
import type { ApiSettings } from "../settings/api.ts";

export interface ApiGatewayProps {
  readonly fn: IFunction;
  /** The function that serves the page, on every path that is not the API's. Undefined: no page. */
  readonly page: IFunction | undefined;
  readonly settings: ApiSettings;
  readonly logRetention: RetentionDays;
}

/** The gateway in front of the API's function, of either kind. */
export interface ApiGateway extends IConstruct {
  readonly apiId: string;
  readonly stageName: string;
  /** Every method and path of the API, as IAM names them. */
  readonly executeArn: string;
  /** The gateway's own address, without a slash at the end. */
  readonly url: string;
  /** Requests answered with 5xx, per minute. */
  readonly serverErrors: IMetric;
}

export function executeArnOf(scope: Construct, apiId: string, stageName: string): string {
  return Stack.of(scope).formatArn({
    service: "execute-api",
    resource: apiId,
    resourceName: `${stageName}/*/*`,
  });
}

/**
 * The prefix keeps the log out of the account's resource policy for log deliveries, which has 5,120
 * characters for all of them. The name of the stack keeps two deployments of one template apart.
 */
export function accessLogs(scope: Construct, retention: RetentionDays): LogGroup {
  return new LogGroup(scope, "AccessLogs", {
    logGroupName: `/aws/vendedlogs/apigateway/${Aws.STACK_NAME}/${Names.uniqueResourceName(scope, { maxLength: 100 })}`,
    retention,
    removalPolicy: RemovalPolicy.DESTROY,
  });
}

// No headers and no query strings: either may hold secrets, which must not reach a log.
export const accessLogFormat = AccessLogFormat.custom(
  JSON.stringify({
    requestId: "$context.requestId",
    time: "$context.requestTime",
    sourceIp: "$context.identity.sourceIp",
    signedBy: "$context.identity.userArn",
    method: "$context.httpMethod",
    path: "$context.path",
    status: "$context.status",
    responseLength: "$context.responseLength",
    latencyMs: "$context.responseLatency",
    gatewayError: "$context.error.message",
    integrationError: "$context.integrationErrorMessage",
  }),
);

/** Why a gateway passes requests on without authorizing them. */
export const tokensAreAskedBelow =
  "The API's function requires a token on every request and answers 401 without one. A token has a scope, a prefix and an expiry, which the gateway's own authorizers do not know. The page's files hold no data.";
