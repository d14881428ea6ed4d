import { CfnOutput, Stack, type StackProps } from "aws-cdk-lib";
import type { Construct } from "constructs";
import { Carillon } from "./carillon.ts";
import type { Settings } from "./settings.ts";

/** A stack with Carillon only, and outputs that operators and callers need after the deployment. */
export class CarillonStack extends Stack {
  constructor(
    scope: Construct,
    id: string,
    settings: Settings,
    props: Pick<StackProps, "stackName" | "synthesizer"> = {},
  ) {
    super(scope, id, {
      ...props,
      description: "Carillon, a serverless scheduler",
      terminationProtection: settings.databaseProtected,
    });
    // With the id "Default" the construct adds nothing to the names of its resources.
    const carillon = new Carillon(this, "Default", settings);

    new CfnOutput(this, "ApiUrl", { value: carillon.url, description: "The address of the API" });
    if (carillon.pageUrl !== undefined)
      new CfnOutput(this, "PageUrl", { value: carillon.pageUrl, description: "The address of the page" });
    if (carillon.apiDomainTarget !== undefined)
      new CfnOutput(this, "ApiDomainTarget", {
        value: carillon.apiDomainTarget,
        description: "The name that a DNS record for the API's domain must point to",
      });
    new CfnOutput(this, "IngestQueueUrl", {
      value: carillon.ingestQueue.queueUrl,
      description: "The SQS queue that takes commands",
    });
    new CfnOutput(this, "IngestQueueArn", {
      value: carillon.ingestQueue.queueArn,
      description: "The target for rules that watch events",
    });
    if (settings.stackSchedules)
      new CfnOutput(this, "ScheduleServiceToken", {
        value: carillon.scheduleServiceToken,
        description: "The service token of schedules in other stacks: Custom::CarillonSchedule",
        exportName: `${this.stackName}-ScheduleServiceToken`,
      });
    new CfnOutput(this, "AdminTokenSecret", {
      value: carillon.adminToken.secretArn,
      description: "The secret in Secrets Manager that holds the first admin token",
    });
  }
}
