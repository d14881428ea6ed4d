import { Stack } from "aws-cdk-lib";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import type { Construct } from "constructs";
import { acknowledgeWildcards } from "../watch/acknowledge.ts";

export interface TargetAllowListProps {
  /** Empty: the queues of this account and region whose name starts with `carillon-target-`. */
  readonly queueArns: readonly string[];
  /** Empty: the default bus of this account and region. */
  readonly busArns: readonly string[];
  /** Empty: the functions of this account and region whose name starts with `carillon-target-`. */
  readonly functionArns: readonly string[];
}

/**
 * Where schedules may send to. Whoever may write a schedule acts through the workers' rights, so these are named when the stack is
 * deployed. The defaults' prefix is one that nobody uses by accident. The API is told as well, and refuses what could never arrive.
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

  /** To whoever delivers to queues and buses. */
  admitSender(fn: LambdaFunction): void {
    grant(fn, ["sqs:SendMessage", "sqs:GetQueueUrl"], this.queues);
    grant(fn, ["events:PutEvents"], this.buses);
  }

  /** To whoever invokes functions; their versions and aliases are resources of their own. */
  admitInvoker(fn: LambdaFunction): void {
    const qualified = this.functions.filter((arn) => !arn.endsWith("*")).map((arn) => `${arn}:*`);
    grant(fn, ["lambda:InvokeFunction"], [...this.functions, ...qualified]);
  }

  /** Names without an ARN mean this account; the region every function knows. */
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
    "Schedules name their targets later: the deployment says which ones they may, one by one or by the beginning of their names. A function's versions and aliases belong to it.",
  );
}
