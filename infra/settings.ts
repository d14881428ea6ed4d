import type { Node } from "constructs";
import { z } from "zod";
import {
  type LifecycleEvent,
  lifecycleDefaults,
  parseLifecycleEvents,
} from "../lib/config/lifecycle-events.ts";

const logRetentions: readonly number[] = [
  1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 3653,
];

/** Functions are told such lists by their environment, for all of which Lambda has room for 4 KB. */
const listCharactersMax = 900;

/** Everything that a deployment may decide, with its default. Given as context: `cdk deploy -c carillon:databaseClass=t4g.small`, or in cdk.json. */
const settings = z.strictObject({
  /** The RDS instance class, without its "db." prefix. */
  databaseClass: z
    .string()
    .regex(/^[a-z0-9]+\.[a-z0-9]+$/, 'it takes an instance class such as "t4g.micro"')
    .default("t4g.micro"),
  /** The storage that the database starts with, in GiB; it grows by itself to five times this. */
  databaseStorageGiB: wholeNumber(20, 10_000).default(20),
  /** How many days of backups are kept. */
  databaseBackupDays: wholeNumber(1, 35).default(7),
  /** Whether the database refuses to be deleted. */
  databaseProtected: yesOrNo().default(true),
  /** Whether the database has a standby and the endpoints stand in two zones. Both then cost twice as much. */
  highlyAvailable: yesOrNo().default(false),
  /** How many workers at most deliver to queues and event buses at once; each may hold two database connections. */
  fastConcurrency: wholeNumber(2, 1_000).default(4),
  /** How many workers at most run handlers, invoke functions and send webhooks at once; each may hold four database connections, two of them for handlers' transactions. */
  slowConcurrency: wholeNumber(2, 1_000).default(10),
  /** How many invocations at most drain the queue of commands at once; each may hold two database connections. */
  ingestConcurrency: wholeNumber(2, 1_000).default(2),
  /** What the keys of commands from the queue must begin with. None given: they reach every key. */
  ingestPrefix: z
    .string()
    .regex(/^[^/?#%\\\s]{1,255}$/, "it takes what keys may begin with")
    .optional(),
  /** How many requests a second the API takes on average; it answers 429 to the others. */
  apiRequestsPerSecond: wholeNumber(1, 10_000).default(50),
  /** How many requests the API takes at one instant; each of them may open a database connection. */
  apiRequestBurst: wholeNumber(1, 5_000).default(25),
  /** The queues that schedules may name. None given: those of this account and region whose name starts with `carillon-target-`. */
  targetQueueArns: arns(/^arn:[\w-]+:sqs:[\w-]+:\d{12}:[\w-]+(\.fifo|\*)?$/),
  /** The event buses that schedules may name. None given: the default bus of this account and region. */
  targetBusArns: arns(/^arn:[\w-]+:events:[\w-]+:\d{12}:event-bus\/[\w./-]+\*?$/),
  /** The Lambda functions that schedules may name. None given: those of this account and region whose name starts with `carillon-target-`. */
  targetFunctionArns: arns(/^arn:[\w-]+:lambda:[\w-]+:\d{12}:function:[\w-]+\*?$/),
  /** Public networks that webhooks may not reach, such as those of one's own offices. Private ones they never reach. */
  webhookDenyNetworks: networks(),
  /** Of what the event bus is told, of each job: some of started, succeeded, failed, dead, skipped, missed, or none. */
  lifecycleEvents: events().default([...lifecycleDefaults]),
  /** The event bus of this account and region that is told. */
  lifecycleBus: z
    .string()
    .regex(/^[\w./-]{1,256}$/, "it takes the name of an event bus")
    .default("default"),
  /** The SNS topic that alarms notify. None given: they only show in CloudWatch. */
  alarmTopicArn: z
    .string()
    .regex(/^arn:[\w-]+:sns:[\w-]+:\d{12}:[\w-]+$/, "it takes the ARN of an SNS topic")
    .optional(),
  /** How many days logs are kept, as one of the numbers that CloudWatch Logs knows. */
  logRetentionDays: z.coerce
    .number()
    .refine((days) => logRetentions.includes(days), `it takes one of the numbers that CloudWatch Logs knows`)
    .default(30),
});

export type Settings = z.infer<typeof settings>;

export const defaultSettings: Settings = settings.parse({});

const PREFIX = "carillon:";

/** Reads the settings from the context and says everything that is wrong with them at once. */
export function settingsFrom(node: Node): Settings {
  const context: Record<string, unknown> = node.getAllContext();
  const given = Object.entries(context)
    .filter(([name]) => name.startsWith(PREFIX))
    .map(([name, value]) => [name.slice(PREFIX.length), value]);
  const read = settings.safeParse(Object.fromEntries(given));
  if (read.success) return read.data;
  const faults = read.error.issues.map((issue) => {
    if (issue.code !== "unrecognized_keys") return `${PREFIX}${String(issue.path[0])}: ${issue.message}`;
    const known = Object.keys(settings.shape).join(", ");
    return `${issue.keys.map((key) => PREFIX + key).join(", ")}: there is no such setting; there are ${known}`;
  });
  throw new Error(["These settings cannot be used:", ...faults].join("\n  "));
}

// What comes from the command line is text; what comes from cdk.json is what JSON says.

function wholeNumber(min: number, max: number) {
  const takes = `it takes a whole number from ${min} to ${max}`;
  return z.coerce.number(takes).int(takes).min(min, takes).max(max, takes);
}

function yesOrNo() {
  return z
    .union([z.boolean(), z.enum(["true", "false"])], "it takes true or false")
    .transform((value) => value === true || value === "true");
}

function events() {
  return z
    .union([z.array(z.string()).transform((names) => names.join(",")), z.string()])
    .transform((text, context): LifecycleEvent[] => {
      try {
        return [...parseLifecycleEvents(text)];
      } catch (error) {
        context.addIssue({ code: "custom", message: error instanceof Error ? error.message : String(error) });
        return z.NEVER;
      }
    });
}

/** The name may end in `*`, for many of a kind; account and region may not, so that a schedule never reaches into another account by accident. */
function arns(pattern: RegExp) {
  return textList(
    z.string().regex(pattern, "it takes ARNs with account, region and name, separated by commas"),
    "name many at once by ending them with *",
  );
}

function networks() {
  return textList(
    z.union([z.cidrv4(), z.cidrv6()], "it takes networks such as 203.0.113.0/24, separated by commas"),
    "unite some of them",
  );
}

function textList(item: z.ZodType<string, string>, wayOut: string) {
  return z
    .union([z.array(z.string()), z.string().transform((text) => text.split(",").map((one) => one.trim()))])
    .pipe(
      z
        .array(item)
        .refine(
          (list) => list.join(",").length <= listCharactersMax,
          `it takes at most ${listCharactersMax} characters; ${wayOut}`,
        ),
    )
    .default([]);
}
