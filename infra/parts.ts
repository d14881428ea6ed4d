import type { ICertificate } from "aws-cdk-lib/aws-certificatemanager";
import type { InstanceType, IVpc, SubnetSelection } from "aws-cdk-lib/aws-ec2";
import type { IEventBus } from "aws-cdk-lib/aws-events";
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import type { IHostedZone } from "aws-cdk-lib/aws-route53";
import type { ITopic } from "aws-cdk-lib/aws-sns";
import type { IQueue } from "aws-cdk-lib/aws-sqs";

/** Resources of the app, each instead of the settings that name it. */
export interface CarillonResources {
  /** The topic that alarms notify, instead of `alarmTopicArn`. */
  readonly alarmTopic?: ITopic;
  /** The topic of alarms of the severity `ticket`, instead of `ticketTopicArn`. */
  readonly ticketTopic?: ITopic;
  /**
   * The queues that schedules may name, instead of `targetQueueArns`. The worker may also use their
   * keys.
   */
  readonly targetQueues?: readonly IQueue[];
  /** The event buses that schedules may name, instead of `targetBusArns`. */
  readonly targetBuses?: readonly IEventBus[];
  /** The Lambda functions that schedules may name, instead of `targetFunctionArns`. */
  readonly targetFunctions?: readonly IFunction[];
  /** The certificate for `apiDomainName`, instead of `apiCertificateArn`. */
  readonly apiCertificate?: ICertificate;
  /** The zone that gets a record, instead of `apiHostedZoneId` and `apiHostedZoneName`. */
  readonly apiHostedZone?: IHostedZone;
  /** The class of the RDS instance, instead of `databaseClass`. */
  readonly databaseInstance?: InstanceType;
}

/** Parts that an app may pass in code, beside the settings. */
export interface CarillonParts extends CarillonResources {
  /**
   * The module that exports `handlers`, as a path. Default: functions/handlers.ts in this
   * repository, and none in the package.
   */
  readonly handlersEntry?: string;
  /** The VPC to use. Default: the one that `vpcId` names, else a new one. */
  readonly vpc?: IVpc;
  /** The subnets of that VPC to use, in two zones at least. Default: its private ones. */
  readonly subnets?: SubnetSelection;
}
