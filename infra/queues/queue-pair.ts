import { Aws, Duration, Fn, type RemovalPolicy, Stack } from "aws-cdk-lib";
import { Queue, QueueEncryption } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";

export interface QueuePairProps {
  /** How long a received message is hidden from other receivers. */
  readonly visibility: Duration;
  /** How long a message that is not handled is kept. */
  readonly retention: Duration;
  /** How often a message may be received before it moves to the dead-letter queue. */
  readonly receivesMax: number;
  readonly removalPolicy: RemovalPolicy;
}

export interface QueuePair {
  readonly queue: Queue;
  readonly deadLetters: Queue;
}

/** SQS's longest retention: messages that were set aside must survive a holiday. */
const DEAD_LETTERS_KEPT = Duration.days(14);

/** A queue and its dead-letter queue; both encrypted, and closed to requests without TLS. */
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
 * Each of the two names the other, and CloudFormation allows a reference in one direction only, so
 * the other direction needs a name known in advance. The stack's own id in the name keeps it apart
 * from other deployments, and from the remains of an earlier stack of the same name.
 */
function nameIn(scope: Construct): string {
  const stackUuid = Fn.select(2, Fn.split("/", Aws.STACK_ID));
  return `carillon-${scope.node.id.toLowerCase()}-${scope.node.addr.slice(-8)}-${stackUuid}`;
}

function queueCalled(scope: Construct, name: string) {
  return Queue.fromQueueArn(scope, "Source", Stack.of(scope).formatArn({ service: "sqs", resource: name }));
}
