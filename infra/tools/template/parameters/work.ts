import type { TemplateParameter } from "../parameter.ts";

const concurrency = "Concurrency";
const retention = "Retention";

export const workParameters: readonly TemplateParameter[] = [
  {
    name: "FastConcurrency",
    group: concurrency,
    setting: "fastConcurrency",
    description:
      "The highest number of concurrent workers for queues and event buses; each may hold two database connections.",
    byDefault: "4",
    values: { kind: "choice", learned: ["2", "4", "10", "20", "50", "100"] },
  },
  {
    name: "SlowConcurrency",
    group: concurrency,
    setting: "slowConcurrency",
    description:
      "The highest number of concurrent workers for functions, webhooks and handlers; each may hold four database connections.",
    byDefault: "10",
    values: { kind: "choice", learned: ["2", "5", "10", "20", "50", "100"] },
  },
  {
    name: "JobRetentionDays",
    group: retention,
    setting: "jobRetentionDays",
    description: "How many days a day of jobs is kept after all of its jobs have ended.",
    byDefault: "30",
    values: {
      kind: "text",
      learned: ["30", "3650"],
      pattern: "[1-9][0-9]{0,2}|[12][0-9]{3}|3[0-5][0-9]{2}|36[0-4][0-9]|3650",
      takes: "a whole number from 1 to 3650",
    },
  },
  {
    name: "AuditRetentionDays",
    group: retention,
    setting: "auditRetentionDays",
    description: "How many days of the audit are kept, at least 30; 0 keeps all of it for ever.",
    byDefault: "365",
    values: {
      kind: "text",
      learned: ["365", "36500"],
      pattern: "0|[3-9][0-9]|[1-9][0-9]{2,3}|[12][0-9]{4}|3[0-5][0-9]{3}|36[0-4][0-9]{2}|36500",
      takes: "0, or a whole number from 30 to 36500",
    },
  },
  {
    name: "LogRetentionDays",
    group: retention,
    setting: "logRetentionDays",
    description: "How many days logs are kept.",
    byDefault: "30",
    values: {
      kind: "text",
      learned: ["30", "3653"],
      allowed: [
        ...["1", "3", "5", "7", "14", "30", "60", "90", "120", "150", "180", "365", "400", "545", "731"],
        ...["1096", "1827", "3653"],
      ],
    },
  },
];
