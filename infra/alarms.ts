import { Duration } from "aws-cdk-lib";
import {
  Alarm,
  ComparisonOperator,
  type IAlarmAction,
  type IMetric,
  TreatMissingData,
} from "aws-cdk-lib/aws-cloudwatch";
import { SnsAction } from "aws-cdk-lib/aws-cloudwatch-actions";
import { Topic } from "aws-cdk-lib/aws-sns";
import type { Queue } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";

export interface AlarmsProps {
  /** The SNS topic that every alarm notifies, when it starts and when it ends. Default: alarms only show in CloudWatch. */
  readonly topicArn: string | undefined;
}

export interface HeartbeatProps {
  /** Counts one each time the thing has done its work. */
  readonly metric: IMetric;
  readonly missedMax: number;
  readonly description: string;
}

/** Makes alarms whose text says what they mean, and lets them notify whoever wants to know. */
export class Alarms extends Construct {
  private readonly action: IAlarmAction | undefined;

  constructor(scope: Construct, id: string, props: AlarmsProps) {
    super(scope, id);
    if (props.topicArn !== undefined) {
      this.action = new SnsAction(Topic.fromTopicArn(this, "Topic", props.topicArn));
    }
  }

  whenNotEmpty(scope: Construct, id: string, deadLetters: Queue): void {
    this.whenSetAside(
      scope,
      id,
      deadLetters,
      "Messages could not be worked on and were set aside. No job is lost: the tick sends its parcel again. Look at the worker's log for the cause.",
    );
  }

  whenSetAside(scope: Construct, id: string, deadLetters: Queue, alarmDescription: string): void {
    this.notify(
      new Alarm(scope, id, {
        alarmDescription,
        metric: deadLetters.metricApproximateNumberOfMessagesVisible({ period: Duration.minutes(1) }),
        comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
        threshold: 0,
        evaluationPeriods: 1,
        treatMissingData: TreatMissingData.NOT_BREACHING,
      }),
    );
  }

  whenOld(scope: Construct, id: string, queue: Queue, oldest: Duration, alarmDescription: string): void {
    this.notify(
      new Alarm(scope, id, {
        alarmDescription,
        metric: queue.metricApproximateAgeOfOldestMessage({ period: Duration.minutes(1) }),
        comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
        threshold: oldest.toSeconds(),
        evaluationPeriods: 1,
        treatMissingData: TreatMissingData.NOT_BREACHING,
      }),
    );
  }

  /** Of what is missing, not of what fails: something that never ran reports no error. */
  whenMissing(scope: Construct, id: string, heartbeat: HeartbeatProps): void {
    this.notify(
      new Alarm(scope, id, {
        alarmDescription: heartbeat.description,
        metric: heartbeat.metric,
        comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD,
        threshold: 1,
        evaluationPeriods: heartbeat.missedMax,
        treatMissingData: TreatMissingData.BREACHING,
      }),
    );
  }

  whenFailing(scope: Construct, id: string, errors: IMetric, description: string): void {
    this.notify(
      new Alarm(scope, id, {
        alarmDescription: description,
        metric: errors,
        comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
        threshold: 0,
        evaluationPeriods: 5,
        datapointsToAlarm: 3,
        treatMissingData: TreatMissingData.NOT_BREACHING,
      }),
    );
  }

  private notify(alarm: Alarm): void {
    if (this.action === undefined) return;
    alarm.addAlarmAction(this.action);
    alarm.addOkAction(this.action);
  }
}
