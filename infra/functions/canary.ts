import { Duration, RemovalPolicy } from "aws-cdk-lib";
import type { IKey } from "aws-cdk-lib/aws-kms";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { Construct } from "constructs";
import { encryptedQueue, mayUse } from "../queues/queue-encryption.ts";
import { acknowledge } from "../watch/acknowledge.ts";
import type { Alarms } from "../watch/alarms.ts";
import type { Metrics } from "../watch/metrics.ts";

export interface CanaryProps {
  /** The interval of the canary's schedules. */
  readonly every: Duration;
  /** The tick puts the canary's schedules. */
  readonly tick: LambdaFunction;
  /** The fast worker delivers to queues. */
  readonly fastWorker: LambdaFunction;
  readonly metrics: Metrics;
  readonly alarms: Alarms;
  /** The key that encrypts its messages. Default: one of SQS. */
  readonly queueKey: IKey | undefined;
}

/**
 * One canary may arrive just before the end of a period and the next just after it, so one empty
 * period proves nothing.
 */
const MISSED_MAX = 2;
const RETENTION = Duration.minutes(1);

/**
 * Two schedules of Carillon's own that take the whole path every few minutes. One goes to a queue
 * without a reader, where SQS itself counts arrivals, and one to a handler that reports its
 * arrival. Any fault on the path, known or not, shows as a missing arrival.
 */
export class Canary extends Construct {
  constructor(scope: Construct, id: string, props: CanaryProps) {
    super(scope, id);
    const { every, tick, fastWorker, metrics, alarms } = props;

    const arrivals = encryptedQueue(this, "Arrivals", {
      // An arrival is counted when it is sent; nothing reads the message.
      retentionPeriod: RETENTION,
      key: props.queueKey,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    acknowledge(arrivals, "SQS3", "Nothing reads from this queue, so no read can fail.");
    arrivals.grantSendMessages(fastWorker);
    mayUse(props.queueKey, fastWorker, "send");
    tick.addEnvironment("CANARY_QUEUE_URL", arrivals.queueUrl);
    tick.addEnvironment("CANARY_MINUTES", String(every.toMinutes()));

    const arrived = {
      Fast: arrivals.metricNumberOfMessagesSent({ statistic: "Sum", period: every }),
      Slow: metrics.ofWorker("CanaryMs", "slow", { statistic: "SampleCount", period: every }),
    };
    for (const [queue, metric] of Object.entries(arrived)) {
      alarms.whenMissing(this, `${queue}Missing`, {
        metric,
        missedMax: MISSED_MAX,
        description: `No canary of the ${queue.toLowerCase()} queue has arrived for ${MISSED_MAX * every.toMinutes()} minutes: jobs are stuck somewhere between the schedule and its target.`,
        article: "Canary missing",
      });
    }
  }
}
