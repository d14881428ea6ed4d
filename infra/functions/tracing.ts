import { CfnStage } from "aws-cdk-lib/aws-apigateway";
import { Policy, PolicyStatement } from "aws-cdk-lib/aws-iam";
import { CfnFunction } from "aws-cdk-lib/aws-lambda";
import type { IConstruct } from "constructs";
import { acknowledge } from "../watch/acknowledge.ts";
import { CarillonFunction } from "./carillon-function.ts";

/**
 * Has X-Ray trace every function in here, and a REST API's stage; an HTTP API cannot. Lambda sends a function's traces itself, so that
 * no further endpoint stands in the network.
 */
export function traceAll(scope: IConstruct): void {
  for (const construct of scope.node.findAll()) {
    if (construct instanceof CfnStage) construct.tracingEnabled = true;
    if (construct instanceof CarillonFunction) traceFunction(construct);
  }
}

function traceFunction(fn: CarillonFunction): void {
  if (fn.node.defaultChild instanceof CfnFunction) fn.node.defaultChild.tracingConfig = { mode: "Active" };
  const policy = new Policy(fn, "Tracing", {
    statements: [
      new PolicyStatement({
        actions: ["xray:PutTraceSegments", "xray:PutTelemetryRecords"],
        resources: ["*"],
      }),
    ],
  });
  fn.role?.attachInlinePolicy(policy);
  acknowledge(
    policy,
    "IAM5[Resource::*]",
    "X-Ray's actions for writing traces know no resource; nothing can be read by them.",
  );
}
