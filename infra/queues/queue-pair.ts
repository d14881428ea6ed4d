import { Aws, Duration, Fn, type RemovalPolicy, Stack } from "aws-cdk-lib";
import { Queue, QueueEncryption } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";

export interface QueuePairProps {
  /** How long a message is hidden from others once somebody has it. */
  readonly visibility: Duration;
  /** How long a message is kept that nobody works on. */
  readonly retention: Duration;
  /** How often a message may be received before it is set aside. */
  readonly receivesMax: number;
  readonly removalPolicy: RemovalPolicy;
}

export interface QueuePair {
  readonly queue: Queue;
  readonly deadLetters: Queue;
}

/** As long as SQS keeps anything: over a holiday, what was set aside waits for somebody to look. */
const DEAD_LETTERS_KEPT = Duration.days(14);

/** A queue, and where it sets aside what cannot be worked on; both encrypted, and closed to whoever does not use TLS. */
export function queuePair(scope: Construct, props: QueuePairProps): QueuePair {
  const { removalPolicy } = props;
  const safe = { encryption: QueueEncryption.SQS_MANAGED, enforceSSL: true, removalPolicy };
  const queueName = nameIn(scope);
  const deadLetters = new Queue(scope, "DeadLetters", {
    ...safe,
    retentionPeriod: DEAD_LETTERS_KEPT,
    redriveAllowPolicy: { sourceQueues: [queueCalled(scope, queueName)] },
  });
  const queue = new Queue(scope, "Queue", {
    ...safe,
    queueName,
    visibilityTimeout: props.visibility,
    retentionPeriod: props.retention,
    deadLetterQueue: { queue: deadLetters, maxReceiveCount: props.receivesMax },
  });
  return { queue, deadLetters };
}

/**
 * Each of the two names the other: CloudFormation takes one of the two references, so the other is a name that is known beforehand. With
 * the stack's own id in it no deployment meets another's, nor what a stack of the same name left behind.
 */
function nameIn(scope: Construct): string {
  const stackUuid = Fn.select(2, Fn.split("/", Aws.STACK_ID));
  return `carillon-${scope.node.id.toLowerCase()}-${scope.node.addr.slice(-8)}-${stackUuid}`;
}

function queueCalled(scope: Construct, name: string) {
  return Queue.fromQueueArn(scope, "Source", Stack.of(scope).formatArn({ service: "sqs", resource: name }));
}
