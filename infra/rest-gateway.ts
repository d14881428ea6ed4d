import { Aws, Duration, Names, Stack } from "aws-cdk-lib";
import { EndpointType, LambdaIntegration, LogGroupLogDestination, RestApi } from "aws-cdk-lib/aws-apigateway";
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
      deployOptions: {
        stageName: this.stageName,
        throttlingRateLimit: settings.apiRequestsPerSecond,
        throttlingBurstLimit: settings.apiRequestBurst,
        accessLogDestination: new LogGroupLogDestination(accessLogs(this, logRetention)),
        accessLogFormat,
      },
    });
    giveReasons(api);
    const toFunction = new LambdaIntegration(fn, { scopePermissionToMethod: false });
    api.root.addMethod("ANY", toFunction);
    api.root.addProxy({ anyMethod: false }).addMethod("ANY", toFunction);

    this.apiId = api.restApiId;
    this.url = `https://${api.restApiId}.execute-api.${Aws.REGION}.${Aws.URL_SUFFIX}/${this.stageName}`;
    this.serverErrors = api.deploymentStage.metricServerError({
      period: Duration.minutes(1),
      statistic: "Sum",
    });
  }
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
