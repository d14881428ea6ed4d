import { Stack } from "aws-cdk-lib";
import { type IGrantable, PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { Construct } from "constructs";

export interface TargetAllowListProps {
  /** Empty: the queues of this account and region whose name starts with `carillon-target-`. */
  readonly queueArns: readonly string[];
  /** Empty: the default bus of this account and region. */
  readonly busArns: readonly string[];
}

/**
 * Where schedules may send to. Whoever may write a schedule acts through the worker's rights, so these are named when the stack is
 * deployed. The default's prefix is one that nobody uses by accident.
 */
export class TargetAllowList {
  private readonly statements: readonly PolicyStatement[];

  constructor(scope: Construct, props: TargetAllowListProps) {
    const stack = Stack.of(scope);
    const queues = stack.formatArn({ service: "sqs", resource: "carillon-target-*" });
    const defaultBus = stack.formatArn({ service: "events", resource: "event-bus", resourceName: "default" });
    this.statements = [
      new PolicyStatement({
        actions: ["sqs:SendMessage", "sqs:GetQueueUrl"],
        resources: props.queueArns.length > 0 ? [...props.queueArns] : [queues],
      }),
      new PolicyStatement({
        actions: ["events:PutEvents"],
        resources: props.busArns.length > 0 ? [...props.busArns] : [defaultBus],
      }),
    ];
  }

  admit(grantee: IGrantable): void {
    for (const statement of this.statements) grantee.grantPrincipal.addToPrincipalPolicy(statement);
  }
}
