import { Duration } from "aws-cdk-lib";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { RetentionDays } from "aws-cdk-lib/aws-logs";
import { Construct, type IDependable } from "constructs";
import { functionTimeoutSeconds } from "../../lib/config/function-limits.ts";
import type { Api } from "../api/api.ts";
import { CarillonFunction } from "./carillon-function.ts";
import type { FunctionCode } from "./function-code.ts";

export interface StackSchedulesProps {
  readonly api: Api;
  readonly code: FunctionCode;
  readonly logRetention: RetentionDays;
  /** The parts that the API's function needs for an answer. */
  readonly after: readonly IDependable[];
}

/**
 * The function that keeps the schedules of stacks: the provider of `Custom::CarillonSchedule`. It is
 * outside of the network, where it reaches the address for its answers, and it may only invoke the
 * API's function. CloudFormation invokes it with the rights of the role that deploys, so it admits no
 * other account and no service.
 */
export class StackSchedules extends Construct {
  readonly fn: CarillonFunction;

  constructor(scope: Construct, id: string, { api, code, logRetention, after }: StackSchedulesProps) {
    super(scope, id);
    this.fn = new CarillonFunction(this, "Function", {
      entry: "stack",
      code,
      description: "Carillon: keeps the schedules that stacks define",
      timeout: Duration.seconds(functionTimeoutSeconds.stack),
      memoryMiB: 256,
      logRetention,
    });
    this.fn.addEnvironment("API_FUNCTION", api.fn.functionName);
    this.fn.addToRolePolicy(
      new PolicyStatement({ actions: ["lambda:InvokeFunction"], resources: [api.fn.functionArn] }),
    );
    api.fn.addEnvironment("STACK_CALLERS", "true");
    // A schedule waits for this function alone, so the function waits for the rest. When the stack is
    // deleted, its schedules go first.
    this.node.addDependency(api, ...after);
  }
}
