import { CfnStage } from "aws-cdk-lib/aws-apigateway";
import { Policy, PolicyStatement } from "aws-cdk-lib/aws-iam";
import { CfnFunction } from "aws-cdk-lib/aws-lambda";
import type { IConstruct } from "constructs";
import { acknowledge } from "../watch/acknowledge.ts";
import { CarillonFunction } from "./carillon-function.ts";

/**
 * Enables X-Ray tracing of every function in the scope and of a REST API's stage; an HTTP API does
 * not support it. Lambda itself sends the traces, so the network needs no further endpoint.
 */
export function traceAll(scope: IConstruct): void {
  for (const construct of scope.node.findAll()) {
    if (construct instanceof CfnStage) construct.tracingEnabled = true;
    if (construct instanceof CarillonFunction) traceFunction(construct);
  }
}

function traceFunction(fn: CarillonFunction): void {
  const policy = new Policy(fn, "Tracing", {
    statements: [
      new PolicyStatement({
        actions: ["xray:PutTraceSegments", "xray:PutTelemetryRecords"],
        resources: ["*"],
      }),
    ],
  });
  fn.role?.attachInlinePolicy(policy);
  const resource = fn.node.defaultChild;
  if (resource instanceof CfnFunction) {
    resource.tracingConfig = { mode: "Active" };
    // Lambda refuses to make a function with tracing whose role has not these rights yet.
    resource.node.addDependency(policy);
  }
  acknowledge(
    policy,
    "IAM5[Resource::*]",
    "X-Ray's actions for writing traces cannot be limited to a resource; they allow no reading.",
  );
}
