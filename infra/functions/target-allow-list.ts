import { Stack } from "aws-cdk-lib";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import type { Construct } from "constructs";
import { acknowledgeWildcards } from "../watch/acknowledge.ts";

export interface TargetAllowListProps {
  /** Empty: the queues of this account and region with names that start with `carillon-target-`. */
  readonly queueArns: readonly string[];
  /** Empty: the default bus of this account and region. */
  readonly busArns: readonly string[];
  /**
   * Empty: the functions of this account and region with names that start with `carillon-target-`.
   */
  readonly functionArns: readonly string[];
}

/**
 * The targets that schedules may name. A caller that may write a schedule acts with the workers'
 * rights, so the targets are fixed by the deployment. The prefix of the defaults is one that no
 * existing resource has by accident. The API gets the same list, and refuses targets that could
 * never be delivered to.
 */
export class TargetAllowList {
  private readonly queues: string[];
  private readonly buses: string[];
  private readonly functions: string[];
  private readonly account: string;

  constructor(scope: Construct, { queueArns, busArns, functionArns }: TargetAllowListProps) {
    const stack = Stack.of(scope);
    const orDefault = (arns: readonly string[], byDefault: string) =>
      arns.length > 0 ? [...arns] : [byDefault];
    this.queues = orDefault(queueArns, stack.formatArn({ service: "sqs", resource: "carillon-target-*" }));
    this.buses = orDefault(
      busArns,
      stack.formatArn({ service: "events", resource: "event-bus", resourceName: "default" }),
    );
    this.functions = orDefault(
      functionArns,
      `arn:${stack.partition}:lambda:${stack.region}:${stack.account}:function:carillon-target-*`,
    );
    this.account = stack.account;
  }

  /** Grants a function that delivers to queues and buses the right to send to them. */
  admitSender(fn: LambdaFunction): void {
    grant(fn, ["sqs:SendMessage", "sqs:GetQueueUrl"], this.queues);
    grant(fn, ["events:PutEvents"], this.buses);
  }

  /**
   * Grants a function the right to invoke the listed functions; versions and aliases are separate
   * resources.
   */
  admitInvoker(fn: LambdaFunction): void {
    const qualified = this.functions.filter((arn) => !arn.endsWith("*")).map((arn) => `${arn}:*`);
    grant(fn, ["lambda:InvokeFunction"], [...this.functions, ...qualified]);
  }

  /** Names without an ARN mean this account; every function knows its region. */
  tell(fn: LambdaFunction): void {
    fn.addEnvironment("TARGET_ACCOUNT", this.account);
    fn.addEnvironment("TARGET_QUEUES", this.queues.join(","));
    fn.addEnvironment("TARGET_BUSES", this.buses.join(","));
    fn.addEnvironment("TARGET_FUNCTIONS", this.functions.join(","));
  }
}

function grant(fn: LambdaFunction, actions: string[], resources: string[]): void {
  fn.addToRolePolicy(new PolicyStatement({ actions, resources }));
  acknowledgeWildcards(
    fn.role ?? fn,
    resources,
    "Schedules name their targets later: the deployment limits them, by name or by the beginning of the name. A function's versions and aliases are included.",
  );
}
