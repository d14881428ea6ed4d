import { RemovalPolicy } from "aws-cdk-lib";
import { AccessLogFormat } from "aws-cdk-lib/aws-apigateway";
import type { IMetric } from "aws-cdk-lib/aws-cloudwatch";
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import { LogGroup, type RetentionDays } from "aws-cdk-lib/aws-logs";
import type { Construct, IConstruct } from "constructs";
import type { ApiSettings } from "../settings/api.ts";

export interface ApiGatewayProps {
  readonly fn: IFunction;
  readonly settings: ApiSettings;
  readonly logRetention: RetentionDays;
}

/** What stands before the API's function, whichever kind of API it is. */
export interface ApiGateway extends IConstruct {
  readonly apiId: string;
  readonly stageName: string;
  /** Where it answers by itself, without a slash at its end. */
  readonly url: string;
  /** Requests that were answered 5xx, in a minute. */
  readonly serverErrors: IMetric;
}

export function accessLogs(scope: Construct, retention: RetentionDays): LogGroup {
  return new LogGroup(scope, "AccessLogs", { retention, removalPolicy: RemovalPolicy.DESTROY });
}

// No header and no query: either may hold what must not be kept.
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

/** Why a gateway may let everybody through to the function. */
export const tokensAreAskedBelow =
  "The function asks every request for a token, which has a scope, a prefix and an end, and answers 401 without one; what the gateway could ask for knows none of these.";
