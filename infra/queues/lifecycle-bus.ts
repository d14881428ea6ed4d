import { Stack } from "aws-cdk-lib";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import type { Construct } from "constructs";
import type { LifecycleEvent } from "../../lib/config/lifecycle-events.ts";

export interface LifecycleBusProps {
  /** Which events of jobs are told. */
  readonly events: readonly LifecycleEvent[];
  /** The bus of this account and region that is told. */
  readonly busName: string;
}

/** The bus that is told what becomes of jobs. */
export class LifecycleBus {
  private readonly arn: string;
  private readonly props: LifecycleBusProps;

  constructor(scope: Construct, props: LifecycleBusProps) {
    this.arn = Stack.of(scope).formatArn({
      service: "events",
      resource: "event-bus",
      resourceName: props.busName,
    });
    this.props = props;
  }

  /** Lets a function tell the bus, and says of what. */
  admit(fn: LambdaFunction): void {
    const { events, busName } = this.props;
    fn.addEnvironment("LIFECYCLE_EVENTS", events.length === 0 ? "none" : events.join(","));
    fn.addEnvironment("CARILLON_EVENTS_BUS", busName);
    if (events.length === 0) return;
    fn.addToRolePolicy(
      new PolicyStatement({
        actions: ["events:PutEvents"],
        resources: [this.arn],
        // Where schedules may not send to this bus, nothing else reaches it through a worker either.
        conditions: {
          StringEquals: {
            "events:source": "carillon",
            "events:detail-type": events.map((event) => `carillon.job.${event}`),
          },
        },
      }),
    );
  }
}
