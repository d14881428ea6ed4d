import { Duration, RemovalPolicy } from "aws-cdk-lib";
import { PolicyStatement, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { SqsEventSource } from "aws-cdk-lib/aws-lambda-event-sources";
import type { RetentionDays } from "aws-cdk-lib/aws-logs";
import type { Queue } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import {
  functionTimeoutSeconds,
  ingestBatch,
  ingestReceivesMax,
  ingestRetentionDays,
  visibilityInTimeouts,
} from "../../lib/config/function-limits.ts";
import type { Database } from "../database/database.ts";
import { CarillonFunction } from "../functions/carillon-function.ts";
import type { FunctionCode } from "../functions/function-code.ts";
import type { TargetAllowList } from "../functions/target-allow-list.ts";
import type { WebhookSender } from "../functions/webhook-sender.ts";
import type { Network } from "../network/network.ts";
import type { Alarms } from "../watch/alarms.ts";
import type { JobQueue } from "./job-queue.ts";
import { queuePair } from "./queue-pair.ts";

export interface IngestQueueProps {
  readonly network: Network;
  readonly database: Database;
  readonly queues: readonly JobQueue[];
  readonly targets: TargetAllowList;
  readonly webhooks: WebhookSender;
  readonly alarms: Alarms;
  /** It reaches keys that begin with this. Default: all. */
  readonly prefix: string | undefined;
  /** Rules of EventBridge that stand elsewhere and may send to it. */
  readonly watchRuleArns: readonly string[];
  /** How many invocations drain it at most at once. */
  readonly maxConcurrency: number;
  readonly logRetention: RetentionDays;
  readonly code: FunctionCode;
}

const TIMEOUT = Duration.seconds(functionTimeoutSeconds.ingest);
const WINDOW = Duration.seconds(ingestBatch.windowSeconds);
/** Commands that wait for longer mean that the function does not get through, or not through all of them. */
const OLDEST_MAX = Duration.minutes(15);

/**
 * The queue of commands, and the function that drains it. Unlike a job's, a message of this queue stands nowhere else until it is applied:
 * it is kept for as long as SQS keeps anything. Who may send to it, its policy says; no token is needed.
 */
export class IngestQueue extends Construct {
  readonly fn: CarillonFunction;
  readonly queue: Queue;
  readonly deadLetters: Queue;

  constructor(scope: Construct, id: string, props: IngestQueueProps) {
    super(scope, id);
    const { queue, deadLetters } = queuePair(this, {
      visibility: Duration.seconds(visibilityInTimeouts * TIMEOUT.toSeconds() + WINDOW.toSeconds()),
      retention: Duration.days(ingestRetentionDays),
      receivesMax: ingestReceivesMax,
      // What nobody has applied yet is nowhere else.
      removalPolicy: RemovalPolicy.RETAIN,
    });
    this.queue = queue;
    this.deadLetters = deadLetters;
    if (props.watchRuleArns.length > 0) this.admitRules(props.watchRuleArns);
    this.fn = this.drain(props);
    props.alarms.whenSetAside(
      this,
      "DeadLettersNotEmpty",
      this.deadLetters,
      "Commands were refused, or could not be worked on, and were set aside. GET /v1/commands/dead says why; what is not listed there made the function fail: look at its log. Once mended, have them tried again, or move the messages back.",
    );
    props.alarms.whenOld(
      this,
      "Late",
      this.queue,
      OLDEST_MAX,
      "A command has waited for a quarter of an hour: look whether the database answers, at the log of the function that drains the queue, and whether there are more commands than it gets through. Nothing is lost for fourteen days.",
    );
  }

  /** A rule of this app adds itself to the policy; for those of other stacks, nobody does. */
  private admitRules(arns: readonly string[]): void {
    this.queue.addToResourcePolicy(
      new PolicyStatement({
        principals: [new ServicePrincipal("events.amazonaws.com")],
        actions: ["sqs:SendMessage"],
        resources: [this.queue.queueArn],
        conditions: { ArnLike: { "aws:SourceArn": arns } },
      }),
    );
  }

  private drain(props: IngestQueueProps): CarillonFunction {
    const fn = new CarillonFunction(this, "Function", {
      entry: "ingest",
      code: props.code,
      description: "Carillon: applies the commands that come through the queue",
      network: props.network,
      timeout: TIMEOUT,
      memoryMiB: 1_024,
      logRetention: props.logRetention,
    });
    props.database.admit(fn, "carillon_ingest");
    for (const queue of props.queues) queue.admitSender(fn);
    props.targets.tell(fn);
    props.webhooks.tell(fn);
    fn.addEnvironment("INGEST_QUEUE_URL", this.queue.queueUrl);
    fn.addEnvironment("INGEST_DEAD_QUEUE_URL", this.deadLetters.queueUrl);
    if (props.prefix !== undefined) fn.addEnvironment("INGEST_PREFIX", props.prefix);
    this.deadLetters.grantSendMessages(fn);
    fn.addEventSource(
      new SqsEventSource(this.queue, {
        batchSize: ingestBatch.messages,
        maxBatchingWindow: WINDOW,
        reportBatchItemFailures: true,
        maxConcurrency: props.maxConcurrency,
      }),
    );
    return fn;
  }
}
