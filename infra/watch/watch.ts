import { Annotations, Resource, Stack } from "aws-cdk-lib";
import { EventField, type EventPattern, type IEventBus, Rule, RuleTargetInput } from "aws-cdk-lib/aws-events";
import { SqsQueue } from "aws-cdk-lib/aws-events-targets";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";

/**
 * A command as the queue accepts it, with parts of the event in it:
 * `EventField.fromPath("$.detail.orderId")`.
 */
export type WatchCommand =
  | { readonly put: { readonly key: string; readonly [field: string]: unknown } }
  | { readonly patch: { readonly key: string; readonly [field: string]: unknown } }
  | { readonly delete: string }
  | { readonly pause: string }
  | { readonly resume: string };

export interface WatchProps {
  /** The queue of commands. */
  readonly queue: IQueue;
  /** The events to match; see EventBridge's patterns. */
  readonly when: EventPattern;
  readonly command: WatchCommand;
  /** Default: the default bus. */
  readonly eventBus?: IEventBus;
  readonly description?: string;
  /**
   * The tenant of these events: while one tenant has a backlog on the queue, SQS delivers other
   * tenants' messages first. Default: no tenant.
   */
  readonly tenant?: string;
}

/**
 * Turns each matching event into a command. "Do this when *that* has not happened" is two watches:
 * one puts a schedule and one deletes it. The event's id and time become the command's, so that
 * neither order nor repetition of events matters. The queue's policy then also admits this rule.
 */
export class Watch extends Construct {
  readonly rule: Rule;

  constructor(scope: Construct, id: string, props: WatchProps) {
    super(scope, id);
    if (Stack.of(props.queue) !== Stack.of(this))
      throw new Error(
        `${this.node.path}: the policy of the queue names each rule, so a watch must be in the stack of its queue, ${Stack.of(props.queue).stackName}; rules of other stacks can send to an event bus that this stack watches`,
      );
    if (!Resource.isOwnedResource(props.queue))
      Annotations.of(this).addWarningV2(
        "carillon:watch-of-imported-queue",
        "The queue was made elsewhere, and its policy does not let this rule send: no event arrives until it does. Add this rule to the setting watchRuleArns of the Carillon that owns the queue.",
      );
    this.rule = new Rule(this, "Rule", {
      eventPattern: props.when,
      ...(props.eventBus === undefined ? {} : { eventBus: props.eventBus }),
      ...(props.description === undefined ? {} : { description: props.description }),
      targets: [
        // Adds the rule's ARN to the queue's policy as the only source.
        new SqsQueue(props.queue, {
          // In a standard queue the group id does not order messages; SQS uses it for fair
          // delivery.
          ...(props.tenant === undefined ? {} : { messageGroupId: props.tenant }),
          message: RuleTargetInput.fromObject({
            id: EventField.eventId,
            at: EventField.time,
            ...props.command,
          }),
        }),
      ],
    });
  }
}
