import { Duration, RemovalPolicy } from "aws-cdk-lib";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { Queue, QueueEncryption } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import { acknowledge } from "../watch/acknowledge.ts";
import type { Alarms } from "../watch/alarms.ts";
import type { Metrics } from "../watch/metrics.ts";

export interface CanaryProps {
  /** How often it is due. */
  readonly every: Duration;
  /** It puts the canary's schedules. */
  readonly tick: LambdaFunction;
  /** It delivers to queues. */
  readonly fastWorker: LambdaFunction;
  readonly metrics: Metrics;
  readonly alarms: Alarms;
}

/** One may come just before the end of a period and the next just after it: a period without any is no proof yet. */
const MISSED_MAX = 2;
const RETENTION = Duration.minutes(1);

/**
 * Two schedules of Carillon's own that go the whole way each few minutes: one to a queue that nobody reads, where SQS itself counts what
 * arrives, and one to a handler that says so. Whatever is wrong on the way, known or not, shows as an arrival that is missing.
 */
export class Canary extends Construct {
  constructor(scope: Construct, id: string, props: CanaryProps) {
    super(scope, id);
    const { every, tick, fastWorker, metrics, alarms } = props;

    const arrivals = new Queue(this, "Arrivals", {
      // What arrives is counted and has then done its work.
      retentionPeriod: RETENTION,
      encryption: QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    acknowledge(arrivals, "SQS3", "Nobody reads from this queue, so nothing can fail to be read.");
    arrivals.grantSendMessages(fastWorker);
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
        description: `No canary of the ${queue.toLowerCase()} queue has arrived for ${MISSED_MAX * every.toMinutes()} minutes: somewhere between the schedule and its target jobs do not get through.`,
        article: "Canary missing",
      });
    }
  }
}
