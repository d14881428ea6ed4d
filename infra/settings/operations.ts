import { z } from "zod";
import { canaryMinutesMax, ticksMax } from "../../lib/config/function-limits.ts";
import {
  type LifecycleEvent,
  lifecycleDefaults,
  parseLifecycleEvents,
} from "../../lib/config/lifecycle-events.ts";
import { textOrToken, wholeNumber, yesOrNo } from "./shapes.ts";

const logRetentions: readonly number[] = [
  1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 3653,
];

/** What tells how it goes. */
export const operationsSettings = {
  /** What starts the tick each minute: a `rule` of EventBridge, or EventBridge's `scheduler`. */
  tickBy: z.enum(["rule", "scheduler"], "it takes rule or scheduler").default("rule"),
  /** How many ticks are started each minute, each with its own share of the shards; each may hold three database connections. */
  tickShards: wholeNumber(1, ticksMax).default(1),
  /** Of what the event bus is told, of each job: some of started, succeeded, failed, dead, skipped, missed, or none. */
  lifecycleEvents: events().default([...lifecycleDefaults]),
  /** The event bus of this account and region that is told. */
  lifecycleBus: textOrToken(/^[\w./-]{1,256}$/, "it takes the name of an event bus").default("default"),
  /** The SNS topic that alarms notify. None given: they only show in CloudWatch. */
  alarmTopicArn: textOrToken(
    /^arn:[\w-]+:sns:[\w-]+:\d{12}:[\w-]+$/,
    "it takes the ARN of an SNS topic",
  ).optional(),
  /** Where the runbook stands that alarms name, for those who copy it. */
  runbookUrl: z
    .string()
    .regex(/^[^\s#]{1,300}$/, "it takes an address without a #, of at most 300 characters")
    .default("docs/runbook.md"),
  /** How many seconds late one job in a hundred may start before an alarm is raised. */
  alarmLatenessSeconds: wholeNumber(1, 86_400).default(60),
  /** Under which namespace of CloudWatch the metrics stand; two deployments in one account and region take two. */
  metricsNamespace: z
    .string()
    .regex(
      /^(?!AWS\/)[\w.#:/-]{1,255}$/,
      "it takes letters, digits and . - _ / # : and does not begin with AWS/",
    )
    .default("Carillon"),
  /** Each so many minutes two schedules of Carillon's own prove the whole way, and raise an alarm where they do not arrive; 0 for none. */
  canaryMinutes: wholeNumber(0, canaryMinutesMax).default(5),
  /** Whether X-Ray traces functions, and a REST API; what it samples costs. */
  tracing: yesOrNo().default(false),
  /** Whether there is a dashboard in CloudWatch; an account has three without cost. */
  dashboard: yesOrNo().default(true),
  /** How many days logs are kept, as one of the numbers that CloudWatch Logs knows. */
  logRetentionDays: z.coerce
    .number()
    .refine((days) => logRetentions.includes(days), `it takes one of the numbers that CloudWatch Logs knows`)
    .default(30),
};

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
