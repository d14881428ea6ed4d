import { Duration, RemovalPolicy } from "aws-cdk-lib";
import { AccessLogFormat } from "aws-cdk-lib/aws-apigateway";
import { HttpApi, HttpStage, LogGroupLogDestination } from "aws-cdk-lib/aws-apigatewayv2";
import { HttpLambdaIntegration } from "aws-cdk-lib/aws-apigatewayv2-integrations";
import type { IMetric } from "aws-cdk-lib/aws-cloudwatch";
import { LogGroup, type RetentionDays } from "aws-cdk-lib/aws-logs";
import { Construct } from "constructs";
import { functionTimeoutSeconds } from "../lib/config/function-limits.ts";
import { CarillonFunction } from "./carillon-function.ts";
import type { Database } from "./database.ts";
import type { FunctionCode } from "./function-code.ts";
import type { JobQueue } from "./job-queue.ts";
import type { Network } from "./network.ts";
import type { TargetAllowList } from "./target-allow-list.ts";
import type { WebhookSender } from "./webhook-sender.ts";

export interface ApiProps {
  readonly network: Network;
  readonly database: Database;
  readonly queues: readonly JobQueue[];
  readonly targets: TargetAllowList;
  readonly webhooks: WebhookSender;
  readonly requestsPerSecond: number;
  readonly requestBurst: number;
  readonly logRetention: RetentionDays;
  readonly code: FunctionCode;
}

/** The gateway gives up after 30 s; the function's own error, a second earlier, says more. */
const TIMEOUT = Duration.seconds(functionTimeoutSeconds.api);

/** The one thing that is public: HTTPS, every path to one function, which answers 401 to whoever has no token. */
export class Api extends Construct {
  readonly url: string;
  /** Requests that were answered 5xx, in a minute. */
  readonly serverErrors: IMetric;

  constructor(scope: Construct, id: string, props: ApiProps) {
    super(scope, id);

    const fn = new CarillonFunction(this, "Function", {
      entry: "api",
      code: props.code,
      description: "Carillon: the HTTP API",
      network: props.network,
      timeout: TIMEOUT,
      memoryMiB: 1_024,
      logRetention: props.logRetention,
    });
    props.database.admit(fn, "carillon_api");
    for (const queue of props.queues) queue.admitSender(fn);
    props.targets.tell(fn);
    props.webhooks.tell(fn);

    const api = new HttpApi(this, "Http", {
      description: "Carillon",
      createDefaultStage: false,
      defaultIntegration: new HttpLambdaIntegration("Function", fn),
    });
    const accessLogs = new LogGroup(this, "AccessLogs", {
      retention: props.logRetention,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    new HttpStage(this, "Stage", {
      httpApi: api,
      stageName: "$default",
      autoDeploy: true,
      throttle: { rateLimit: props.requestsPerSecond, burstLimit: props.requestBurst },
      accessLogSettings: { destination: new LogGroupLogDestination(accessLogs), format: accessLogFormat },
    });
    this.url = api.apiEndpoint;
    this.serverErrors = api.metricServerError({ period: Duration.minutes(1), statistic: "Sum" });
  }
}

// No header and no query: either may hold what must not be kept.
const accessLogFormat = AccessLogFormat.custom(
  JSON.stringify({
    requestId: "$context.requestId",
    time: "$context.requestTime",
    sourceIp: "$context.identity.sourceIp",
    method: "$context.httpMethod",
    path: "$context.path",
    status: "$context.status",
    responseLength: "$context.responseLength",
    latencyMs: "$context.responseLatency",
    integrationError: "$context.integrationErrorMessage",
  }),
);
