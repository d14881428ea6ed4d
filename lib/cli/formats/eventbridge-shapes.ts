import * as z from "zod";

/**
 * Instants as the AWS CLI prints them: version 2 a text with an offset, version 1 seconds since
 * 1970.
 */
const instant = z.union([z.string(), z.number()]).transform((written, context) => {
  const date = new Date(typeof written === "number" ? written * 1_000 : written);
  if (!Number.isNaN(date.getTime())) return date.toISOString();
  context.addIssue({ code: "custom", message: "is not an instant" });
  return z.NEVER;
});

const text = z.string().nullish();

export const targetShape = z.looseObject({
  Arn: z.string(),
  Id: text,
  Input: text,
  InputPath: text,
  InputTransformer: z.unknown().optional(),
  SqsParameters: z.looseObject({ MessageGroupId: text }).nullish(),
  EventBridgeParameters: z.looseObject({ DetailType: text, Source: text }).nullish(),
  RetryPolicy: z
    .looseObject({
      MaximumRetryAttempts: z.int().nullish(),
      MaximumEventAgeInSeconds: z.int().nullish(),
    })
    .nullish(),
  DeadLetterConfig: z.looseObject({ Arn: text }).nullish(),
});

export const scheduleShape = z.looseObject({
  Name: z.string().min(1),
  GroupName: z.string().default("default"),
  State: text,
  Description: text,
  ScheduleExpression: text,
  ScheduleExpressionTimezone: text,
  StartDate: instant.nullish(),
  EndDate: instant.nullish(),
  CreationDate: instant.nullish(),
  FlexibleTimeWindow: z.looseObject({ Mode: text, MaximumWindowInMinutes: z.number().nullish() }).nullish(),
  ActionAfterCompletion: text,
  KmsKeyArn: text,
  Target: targetShape.nullish(),
});

export const ruleShape = z.looseObject({
  Name: z.string().min(1),
  State: text,
  Description: text,
  ScheduleExpression: text,
  EventBusName: text,
  Targets: z.array(targetShape).nullish(),
});

export type AwsTarget = z.output<typeof targetShape>;
export type AwsSchedule = z.output<typeof scheduleShape>;
export type AwsRule = z.output<typeof ruleShape>;
