import { CfnOutput, Stack } from "aws-cdk-lib";
import type { Construct } from "constructs";
import { Carillon } from "./carillon.ts";
import type { Settings } from "./settings.ts";

/** Carillon by itself, and what somebody wants to know once it stands. */
export class CarillonStack extends Stack {
  constructor(scope: Construct, id: string, settings: Settings) {
    super(scope, id, {
      description: "Carillon, a serverless scheduler",
      terminationProtection: settings.databaseProtected,
    });
    // By this id it adds nothing to the names of what is in it.
    const carillon = new Carillon(this, "Default", settings);

    new CfnOutput(this, "ApiUrl", { value: carillon.url, description: "Where the API answers" });
    if (carillon.apiDomainTarget !== undefined)
      new CfnOutput(this, "ApiDomainTarget", {
        value: carillon.apiDomainTarget,
        description: "Where a record for the API's domain name has to lead to",
      });
    new CfnOutput(this, "IngestQueueUrl", {
      value: carillon.ingestQueue.queueUrl,
      description: "Where commands are sent to through SQS",
    });
    new CfnOutput(this, "IngestQueueArn", {
      value: carillon.ingestQueue.queueArn,
      description: "What rules that watch events have as their target",
    });
    new CfnOutput(this, "AdminTokenSecret", {
      value: carillon.adminToken.secretArn,
      description: "The secret in Secrets Manager that holds the first admin token",
    });
  }
}
