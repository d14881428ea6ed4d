import { Duration } from "aws-cdk-lib";
import { HttpApi, HttpStage, LogGroupLogDestination } from "aws-cdk-lib/aws-apigatewayv2";
import { HttpLambdaIntegration } from "aws-cdk-lib/aws-apigatewayv2-integrations";
import type { IMetric } from "aws-cdk-lib/aws-cloudwatch";
import { Construct } from "constructs";
import { acknowledge } from "./acknowledge.ts";
import {
  type ApiGateway,
  type ApiGatewayProps,
  accessLogFormat,
  accessLogs,
  tokensAreAskedBelow,
} from "./api-gateway.ts";

/** An HTTP API: the cheaper and quicker kind, and what is made unless a REST API is asked for. */
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
      defaultIntegration: new HttpLambdaIntegration("Function", fn, { scopePermissionToRoute: false }),
    });
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
    this.url = api.apiEndpoint;
    this.serverErrors = api.metricServerError({ period: Duration.minutes(1), statistic: "Sum" });
  }
}
