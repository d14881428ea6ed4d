import { Duration, RemovalPolicy } from "aws-cdk-lib";
import type { IKey } from "aws-cdk-lib/aws-kms";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import type { Queue } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import { receivesMax, visibilityInTimeouts } from "../../lib/config/function-limits.ts";
import type { Alarms } from "../watch/alarms.ts";
import { mayUse } from "./queue-encryption.ts";
import { queuePair } from "./queue-pair.ts";

export interface JobQueueProps {
  /** The timeout of the function that drains this queue. */
  readonly workerTimeout: Duration;
  /** The variable that gives functions this queue's URL. */
  readonly variable: "FAST_QUEUE_URL" | "SLOW_QUEUE_URL";
  readonly alarms: Alarms;
  /** The key that encrypts the messages. Default: one of SQS. */
  readonly key: IKey | undefined;
}

/**
 * The queue that parcels travel through. It may lose every message: parcels are rows in the
 * database and are sent again.
 */
export class JobQueue extends Construct {
  readonly queue: Queue;
  readonly deadLetters: Queue;
  private readonly variable: JobQueueProps["variable"];
  private readonly key: IKey | undefined;

  constructor(scope: Construct, id: string, props: JobQueueProps) {
    super(scope, id);
    this.variable = props.variable;
    this.key = props.key;

    const { queue, deadLetters } = queuePair(this, {
      visibility: Duration.seconds(visibilityInTimeouts * props.workerTimeout.toSeconds()),
      retention: Duration.days(1),
      receivesMax,
      removalPolicy: RemovalPolicy.DESTROY,
      key: props.key,
    });
    this.queue = queue;
    this.deadLetters = deadLetters;
    props.alarms.whenNotEmpty(this, "DeadLettersNotEmpty", this.deadLetters);
  }

  /**
   * Grants a function the right to send parcels to this queue, and sets the variable with its URL.
   */
  admitSender(fn: LambdaFunction): void {
    fn.addEnvironment(this.variable, this.queue.queueUrl);
    this.queue.grantSendMessages(fn);
    mayUse(this.key, fn, "send");
  }

  /** Grants a function, whose event source this queue is, the right to read its messages. */
  admitReceiver(fn: LambdaFunction): void {
    mayUse(this.key, fn, "receive");
  }
}
