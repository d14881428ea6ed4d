import { Duration } from "aws-cdk-lib";
import {
  Alarm,
  type AlarmProps,
  ComparisonOperator,
  type IAlarm,
  type IAlarmAction,
  type IMetric,
  TreatMissingData,
} from "aws-cdk-lib/aws-cloudwatch";
import { SnsAction } from "aws-cdk-lib/aws-cloudwatch-actions";
import { Topic } from "aws-cdk-lib/aws-sns";
import type { Queue } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import { type Severity, severityOf } from "./severity.ts";

export interface AlarmsProps {
  /**
   * The SNS topic that alarms notify, when they start and when they end. Default: none; alarms
   * only show in CloudWatch.
   */
  readonly topicArn: string | undefined;
  /** The topic of alarms that can wait until the next working day. Default: that of all. */
  readonly ticketTopicArn: string | undefined;
  /** The address of the runbook whose articles the alarms link to. */
  readonly runbookUrl: string;
}

export interface ThresholdProps {
  readonly metric: IMetric;
  /** The number of consecutive periods of the metric that must exceed the threshold. */
  readonly periods: number;
  readonly description: string;
  /**
   * The heading of the runbook's article. Default: the path and name of the alarm in words, so that
   * `Tick/Missing` is "Tick missing".
   */
  readonly article?: string;
}

export interface HeartbeatProps {
  /** A metric that counts one each time the part has done its work. */
  readonly metric: IMetric;
  readonly missedMax: number;
  readonly description: string;
  /** As for ThresholdProps. */
  readonly article?: string;
}

/**
 * Makes alarms that notify the topic. Each alarm's text explains its meaning and links to its
 * article in the runbook.
 */
export class Alarms extends Construct {
  /** All alarms made so far. */
  readonly raised: IAlarm[] = [];
  private readonly actions: Readonly<Record<Severity, IAlarmAction | undefined>>;
  private readonly runbookUrl: string;

  constructor(scope: Construct, id: string, props: AlarmsProps) {
    super(scope, id);
    this.runbookUrl = props.runbookUrl;
    const page = this.notifying("Topic", props.topicArn);
    this.actions = { page, ticket: this.notifying("TicketTopic", props.ticketTopicArn) ?? page };
  }

  private notifying(id: string, topicArn: string | undefined): IAlarmAction | undefined {
    return topicArn === undefined ? undefined : new SnsAction(Topic.fromTopicArn(this, id, topicArn));
  }

  whenNotEmpty(scope: Construct, id: string, deadLetters: Queue): void {
    this.whenAbove(scope, id, 0, {
      metric: visibleIn(deadLetters),
      periods: 1,
      description:
        "Messages failed too often and were set aside. No job is lost: the tick sends its parcel again. Check the worker's log for the cause.",
      article: "Parcels set aside",
    });
  }

  whenSetAside(scope: Construct, id: string, deadLetters: Queue, description: string): void {
    this.whenAbove(scope, id, 0, { metric: visibleIn(deadLetters), periods: 1, description });
  }

  whenOld(scope: Construct, id: string, queue: Queue, oldest: Duration, description: string): void {
    const metric = queue.metricApproximateAgeOfOldestMessage({ period: Duration.minutes(1) });
    this.whenAbove(scope, id, oldest.toSeconds(), { metric, periods: 1, description });
  }

  /** An alarm on missing success, not on failures: a part that never ran reports no error. */
  whenMissing(scope: Construct, id: string, heartbeat: HeartbeatProps): void {
    this.raise(
      scope,
      id,
      {
        alarmDescription: heartbeat.description,
        metric: heartbeat.metric,
        comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD,
        threshold: 1,
        evaluationPeriods: heartbeat.missedMax,
        treatMissingData: TreatMissingData.BREACHING,
      },
      heartbeat.article,
    );
  }

  whenFailing(scope: Construct, id: string, errors: IMetric, description: string, article?: string): void {
    this.raise(
      scope,
      id,
      {
        alarmDescription: description,
        metric: errors,
        comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
        threshold: 0,
        evaluationPeriods: 5,
        datapointsToAlarm: 3,
        treatMissingData: TreatMissingData.NOT_BREACHING,
      },
      article,
    );
  }

  whenAbove(scope: Construct, id: string, threshold: number, props: ThresholdProps): void {
    this.whenBeyond(scope, id, threshold, ComparisonOperator.GREATER_THAN_THRESHOLD, props);
  }

  whenBelow(scope: Construct, id: string, threshold: number, props: ThresholdProps): void {
    this.whenBeyond(scope, id, threshold, ComparisonOperator.LESS_THAN_THRESHOLD, props);
  }

  private whenBeyond(
    scope: Construct,
    id: string,
    threshold: number,
    comparisonOperator: ComparisonOperator,
    { metric, periods, description, article }: ThresholdProps,
  ): void {
    this.raise(
      scope,
      id,
      {
        alarmDescription: description,
        metric,
        comparisonOperator,
        threshold,
        evaluationPeriods: periods,
        // A part that writes no metric at all is covered by the alarm on a missing tick.
        treatMissingData: TreatMissingData.NOT_BREACHING,
      },
      article,
    );
  }

  private raise(
    scope: Construct,
    id: string,
    { alarmDescription, ...props }: AlarmProps & { readonly alarmDescription: string },
    article = inWords(`${scope.node.id}${id}`),
  ): void {
    const anchor = article.toLowerCase().replaceAll(" ", "-");
    const severity = severityOf(anchor);
    const alarm = new Alarm(scope, id, {
      ...props,
      alarmDescription: `${alarmDescription} Severity: ${severity}. ${this.runbookUrl}#${anchor}`,
    });
    this.raised.push(alarm);
    const action = this.actions[severity];
    if (action === undefined) return;
    alarm.addAlarmAction(action);
    alarm.addOkAction(action);
  }
}

function visibleIn(queue: Queue): IMetric {
  return queue.metricApproximateNumberOfMessagesVisible({ period: Duration.minutes(1) });
}

function inWords(name: string): string {
  return name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, " ");
}
