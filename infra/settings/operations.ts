import { z } from "zod";
import { canaryMinutesMax, ticksMax } from "../../lib/config/function-limits.ts";
import {
  type LifecycleEvent,
  lifecycleDefaults,
  parseLifecycleEvents,
} from "../../lib/config/lifecycle-events.ts";
import { namedTwice } from "../../lib/config/prefix-rates.ts";
import { parsePrefixWeight } from "../../lib/config/prefix-weights.ts";
import { parseQuota } from "../../lib/config/quota-setting.ts";
import { parsedText, textList, textOrToken, wholeNumber, yesOrNo } from "./shapes.ts";

const logRetentions: readonly number[] = [
  1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 3653,
];

/** Operations and monitoring. */
export const operationsSettings = {
  /**
   * The managed policy that limits the rights of every role that is made here: its name in this
   * account, or its ARN. Default: none.
   */
  permissionsBoundary: textOrToken(
    /^(arn:[\w-]+:iam::(\d{12}|aws):policy\/([\w+=,.@-]+\/)*)?[\w+=,.@-]{1,128}$/,
    "it takes the name or the ARN of a managed policy",
  ).optional(),
  /**
   * The most that callers of each prefix may have: `schedules=2000000` for every prefix,
   * `billing:=schedules=5000000` for one, `billing:=firesPerMinute=none` for no limit. [Quotas](quotas.md)
   * lists the kinds and their defaults. Default: those.
   */
  quotas: textList(parsedText(parseQuota), "the others have the limits without a prefix").refine(
    (list) => namedTwice(list) === null,
    "it takes one limit of each kind for a prefix",
  ),
  /**
   * The weight of a prefix beside others that have [many jobs due at
   * once](jobs.md#many-jobs-of-one-team): `billing:=3` has three times the workers of others.
   * Default: 1 for each prefix.
   */
  prefixWeights: textList(parsedText(parsePrefixWeight), "the others have the weight 1").refine(
    (list) => namedTwice(list) === null,
    "it takes one weight for a prefix",
  ),
  /**
   * The service that starts the tick each minute: a `rule` of EventBridge, or EventBridge's
   * `scheduler`.
   */
  tickBy: z.enum(["rule", "scheduler"], "it takes rule or scheduler").default("rule"),
  /**
   * Whether ticks, workers and the queue of commands are stopped, as while a [restored
   * database](restore.md) is checked. The API answers meanwhile.
   */
  stopped: yesOrNo().default(false),
  /**
   * How many ticks start each minute, each with its own share of the shards. Each may hold three
   * database connections.
   */
  tickShards: wholeNumber(1, ticksMax).default(1),
  /**
   * The events of jobs that are published to the event bus: some of started, succeeded, failed,
   * dead, skipped, missed, or none.
   */
  lifecycleEvents: events().default([...lifecycleDefaults]),
  /** The event bus, of this account and region, that receives the events of jobs. */
  lifecycleBus: textOrToken(/^[\w./-]{1,256}$/, "it takes the name of an event bus").default("default"),
  /** The SNS topic that alarms notify. Default: none; alarms only show in CloudWatch. */
  alarmTopicArn: topicArn().optional(),
  /**
   * The SNS topic that alarms notify whose severity is `ticket`: they can wait until the next working
   * day ([the runbook](runbook.md#alarms) has the severity of each). Default: `alarmTopicArn`.
   */
  ticketTopicArn: topicArn().optional(),
  /** The address of the runbook that alarms link to, for deployments with a copy of their own. */
  runbookUrl: z
    .string()
    .regex(/^[^\s#]{1,300}$/, "it takes an address without a #, of at most 300 characters")
    .default("https://github.com/carillon-scheduler/carillon/blob/main/docs/runbook.md"),
  /**
   * The lateness in seconds above which an alarm is raised, when one job in a hundred exceeds it.
   */
  alarmLatenessSeconds: wholeNumber(1, 86_400).default(60),
  /**
   * The CloudWatch namespace of the metrics. Two deployments in one account and region need two
   * namespaces.
   */
  metricsNamespace: z
    .string()
    .regex(
      /^(?!AWS\/)[\w.#:/-]{1,255}$/,
      "it takes letters, digits and . - _ / # : and does not begin with AWS/",
    )
    .default("Carillon"),
  /**
   * The interval in minutes of two canary schedules, which prove the whole path and raise an alarm
   * when they do not arrive; 0 for none.
   */
  canaryMinutes: wholeNumber(0, canaryMinutesMax).default(5),
  /**
   * Whether X-Ray traces the functions and a REST API. Traces are billed by the number that X-Ray
   * samples.
   */
  tracing: yesOrNo().default(false),
  /** Whether to make a dashboard in CloudWatch; three per account are free. */
  dashboard: yesOrNo().default(true),
  /** How many days logs are kept; one of the values that CloudWatch Logs supports. */
  logRetentionDays: z.coerce
    .number()
    .refine(
      (days) => logRetentions.includes(days),
      `it takes one of the values that CloudWatch Logs supports`,
    )
    .default(30),
};

function topicArn() {
  return textOrToken(/^arn:[\w-]+:sns:[\w-]+:\d{12}:[\w-]+$/, "it takes the ARN of an SNS topic");
}

function events() {
  return z
    .union([
      z.array(z.string()).transform((names) => (names.length === 0 ? "none" : names.join(","))),
      z.string(),
    ])
    .transform((text, context): LifecycleEvent[] => {
      try {
        return [...parseLifecycleEvents(text)];
      } catch (error) {
        context.addIssue({ code: "custom", message: error instanceof Error ? error.message : String(error) });
        return z.NEVER;
      }
    });
}
