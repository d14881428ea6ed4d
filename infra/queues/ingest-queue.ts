import { Duration, RemovalPolicy } from "aws-cdk-lib";
import {
  AnyPrincipal,
  ArnPrincipal,
  Effect,
  type Grant,
  type IGrantable,
  PolicyStatement,
  ServicePrincipal,
} from "aws-cdk-lib/aws-iam";
import type { IKey } from "aws-cdk-lib/aws-kms";
import { SqsEventSource } from "aws-cdk-lib/aws-lambda-event-sources";
import type { RetentionDays } from "aws-cdk-lib/aws-logs";
import type { Queue } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import {
  functionTimeoutSeconds,
  ingestBatch,
  ingestReceivesMax,
  ingestRetentionDays,
  mayComeBack,
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
import { mayUse } from "./queue-encryption.ts";
import { queuePair } from "./queue-pair.ts";

export interface IngestQueueProps {
  readonly network: Network;
  readonly database: Database;
  readonly queues: readonly JobQueue[];
  readonly targets: TargetAllowList;
  readonly webhooks: WebhookSender;
  readonly alarms: Alarms;
  /** The key that encrypts the messages. Default: one of SQS. */
  readonly key: IKey | undefined;
  /** The prefix of the keys that commands may name. Default: all keys. */
  readonly prefix: string | undefined;
  /** Roles and users that alone may send to the queue. Empty: IAM decides. */
  readonly senders: readonly string[];
  /** EventBridge rules of other stacks that may send to the queue. */
  readonly watchRuleArns: readonly string[];
  /** The highest number of concurrent invocations of the function that drains the queue. */
  readonly maxConcurrency: number;
  /** Whether commands stay in the queue. */
  readonly stopped: boolean;
  readonly logRetention: RetentionDays;
  readonly code: FunctionCode;
}

const TIMEOUT = Duration.seconds(functionTimeoutSeconds.ingest);
const WINDOW = Duration.seconds(ingestBatch.windowSeconds);
/** A longer wait means that the function fails, or cannot keep up. */
const OLDEST_MAX = Duration.minutes(15);

/**
 * The queue of commands, and the function that drains it. Unlike a job's message, a command exists
 * only in this queue until it is applied, so it is kept for SQS's longest retention. The queue's
 * policy decides which principals may send; no token is needed.
 */
export class IngestQueue extends Construct {
  readonly fn: CarillonFunction;
  readonly queue: Queue;
  readonly deadLetters: Queue;
  private readonly isLimited: boolean;
  private readonly key: IKey | undefined;

  constructor(scope: Construct, id: string, props: IngestQueueProps) {
    super(scope, id);
    const { queue, deadLetters } = queuePair(this, {
      visibility: Duration.seconds(visibilityInTimeouts * TIMEOUT.toSeconds() + WINDOW.toSeconds()),
      retention: Duration.days(ingestRetentionDays),
      receivesMax: ingestReceivesMax,
      // Commands that are not applied yet exist only in this queue. A deployment that fails when it makes the
      // queue leaves none behind.
      removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
      key: props.key,
    });
    this.key = props.key;
    this.queue = queue;
    this.deadLetters = deadLetters;
    if (props.watchRuleArns.length > 0) this.admitRules(props.watchRuleArns);
    this.isLimited = props.senders.length > 0;
    if (this.isLimited) this.admitOnly(props.senders);
    this.fn = this.drain(props);
    props.alarms.whenSetAside(
      this,
      "DeadLettersNotEmpty",
      this.deadLetters,
      "Commands were refused, or the function failed on them, and they were set aside. GET /v1/commands/dead gives the reasons; a command that is not listed there made the function fail: check its log. Once the cause is fixed, retry them, or move the messages back.",
    );
    props.alarms.whenOld(
      this,
      "Late",
      this.queue,
      OLDEST_MAX,
      "A command has waited for a quarter of an hour. Check that the database answers, the log of the function that drains the queue, and whether commands arrive faster than it applies them. Nothing is lost for fourteen days.",
    );
  }

  grantSend(grantee: IGrantable): Grant {
    const { principalJson } = grantee.grantPrincipal.policyFragment;
    if (this.isLimited && !("Service" in principalJson))
      throw new Error(
        "commandSenders: it lists every role and user that may send commands, so a grant has no effect; add the caller's ARN to the list",
      );
    mayUse(this.key, grantee, "send");
    return this.queue.grantSendMessages(grantee);
  }

  /** A rule of this app adds itself to the policy; rules of other stacks cannot. */
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

  /**
   * Admits these principals, and refuses all others, whatever their own policies say. A service has no
   * ARN of a principal: statements of their own admit rules and topics.
   */
  private admitOnly(arns: readonly string[]): void {
    const sending = { actions: ["sqs:SendMessage"], resources: [this.queue.queueArn] };
    this.queue.addToResourcePolicy(
      new PolicyStatement({ ...sending, principals: arns.map((arn) => new ArnPrincipal(arn)) }),
    );
    this.queue.addToResourcePolicy(
      new PolicyStatement({
        ...sending,
        effect: Effect.DENY,
        principals: [new AnyPrincipal()],
        conditions: {
          ArnNotEquals: { "aws:PrincipalArn": arns },
          Bool: { "aws:PrincipalIsAWSService": "false" },
        },
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
      mayComeBack: mayComeBack.has("ingest"),
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
    for (const how of ["receive", "send"] as const) mayUse(this.key, fn, how);
    fn.addEventSource(
      new SqsEventSource(this.queue, {
        batchSize: ingestBatch.messages,
        maxBatchingWindow: WINDOW,
        reportBatchItemFailures: true,
        maxConcurrency: props.maxConcurrency,
        // Stated in both cases: where an update only leaves it out again, Lambda keeps the mapping as it is.
        enabled: !props.stopped,
      }),
    );
    return fn;
  }
}
