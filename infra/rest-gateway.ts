import { Aws, Duration, Names, Stack } from "aws-cdk-lib";
import { EndpointType, LambdaIntegration, LogGroupLogDestination, RestApi } from "aws-cdk-lib/aws-apigateway";
import type { IMetric } from "aws-cdk-lib/aws-cloudwatch";
import { Construct } from "constructs";
import { type ApiGateway, type ApiGatewayProps, accessLogFormat, accessLogs } from "./api-gateway.ts";

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
