import { Annotations, Resource, Stack } from "aws-cdk-lib";
import { EventField, type EventPattern, type IEventBus, Rule, RuleTargetInput } from "aws-cdk-lib/aws-events";
import { SqsQueue } from "aws-cdk-lib/aws-events-targets";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";

/** A command as the queue takes it, with parts of the event in it: `EventField.fromPath("$.detail.orderId")`. */
export type WatchCommand =
  | { readonly put: { readonly key: string; readonly [field: string]: unknown } }
  | { readonly patch: { readonly key: string; readonly [field: string]: unknown } }
  | { readonly delete: string }
  | { readonly pause: string }
  | { readonly resume: string };

export interface WatchProps {
  /** The queue of commands. */
  readonly queue: IQueue;
  /** Which events; see EventBridge's patterns. */
  readonly when: EventPattern;
  readonly command: WatchCommand;
  /** Default: the default bus. */
  readonly eventBus?: IEventBus;
  readonly description?: string;
  /** Whose events these are: while many of one tenant wait on the queue, SQS gives out others' first. Default: nobody's in particular. */
  readonly tenant?: string;
}

/**
 * Makes a command of each event that matches: "do this when *that* has not happened" is two of them, one that puts a schedule and one
 * that deletes it. The event's id and time are the command's, so that neither order nor repetition of the events matters. The queue lets
 * this rule send, and no other.
 */
export class Watch extends Construct {
  readonly rule: Rule;

  constructor(scope: Construct, id: string, props: WatchProps) {
    super(scope, id);
    if (Stack.of(props.queue) !== Stack.of(this))
      throw new Error(
        `${this.node.path}: the policy of the queue names each rule, so a watch stands in the stack of its queue, ${Stack.of(props.queue).stackName}; rules of other stacks may send to an event bus that this one watches`,
      );
    if (!Resource.isOwnedResource(props.queue))
      Annotations.of(this).addWarningV2(
        "carillon:watch-of-imported-queue",
        "The queue was made elsewhere, and its policy does not let this rule send: no event arrives until it does. Name this rule in the setting watchRuleArns of the Carillon that it belongs to.",
      );
    this.rule = new Rule(this, "Rule", {
      eventPattern: props.when,
      ...(props.eventBus === undefined ? {} : { eventBus: props.eventBus }),
      ...(props.description === undefined ? {} : { description: props.description }),
      targets: [
        // Adds the rule's ARN to the queue's policy as the only source.
        new SqsQueue(props.queue, {
          // Of a standard queue it orders nothing; SQS shares the queue out by it.
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
