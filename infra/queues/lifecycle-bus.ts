import { Stack } from "aws-cdk-lib";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import type { Construct } from "constructs";
import type { LifecycleEvent } from "../../lib/config/lifecycle-events.ts";
import { eventsOfSources } from "./events-of-sources.ts";

export interface LifecycleBusProps {
  /** The events of jobs that are published. */
  readonly events: readonly LifecycleEvent[];
  /** The event bus, of this account and region, that receives the events. */
  readonly busName: string;
}

/** The event bus that receives the events of jobs. */
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

  /**
   * Grants a function the right to publish events of jobs, and sets the variables with the bus and
   * the events.
   */
  admit(fn: LambdaFunction): void {
    const { events, busName } = this.props;
    fn.addEnvironment("LIFECYCLE_EVENTS", events.length === 0 ? "none" : events.join(","));
    fn.addEnvironment("CARILLON_EVENTS_BUS", busName);
    if (events.length === 0) return;
    fn.addToRolePolicy(
      new PolicyStatement({
        actions: ["events:PutEvents"],
        resources: [this.arn],
        // Where schedules may not send to this bus, a worker can only publish Carillon's own events
        // to it.
        conditions: {
          ...eventsOfSources(["carillon"]),
          StringEquals: { "events:detail-type": events.map((event) => `carillon.job.${event}`) },
        },
      }),
    );
  }
}
