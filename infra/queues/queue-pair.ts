import { Aws, Duration, Fn, type RemovalPolicy, Stack } from "aws-cdk-lib";
import type { IKey } from "aws-cdk-lib/aws-kms";
import { Queue } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";
import { encryptedQueue } from "./queue-encryption.ts";

export interface QueuePairProps {
  /** How long a received message is hidden from other receivers. */
  readonly visibility: Duration;
  /** How long a message that is not handled is kept. */
  readonly retention: Duration;
  /** How often a message may be received before it moves to the dead-letter queue. */
  readonly receivesMax: number;
  readonly removalPolicy: RemovalPolicy;
  readonly key: IKey | undefined;
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
  const safe = { key: props.key, removalPolicy };
  const queueName = nameIn(scope);
  const deadLetters = encryptedQueue(scope, "DeadLetters", {
    ...safe,
    retentionPeriod: DEAD_LETTERS_KEPT,
    redriveAllowPolicy: { sourceQueues: [queueCalled(scope, queueName)] },
  });
  const queue = encryptedQueue(scope, "Queue", {
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
