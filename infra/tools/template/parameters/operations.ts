import type { TemplateParameter } from "../parameter.ts";

const group = "Alarms and metrics";

export const operationsParameters: readonly TemplateParameter[] = [
  {
    name: "AlarmTopicArn",
    group,
    setting: "alarmTopicArn",
    description: "The SNS topic that alarms notify. Empty: alarms only show in CloudWatch.",
    byDefault: "",
    values: {
      kind: "text",
      learned: ["arn:aws:sns:eu-central-1:123456789012:one", "arn:aws:sns:eu-central-1:123456789012:two"],
      pattern: "arn:[a-zA-Z0-9_-]+:sns:[a-zA-Z0-9_-]+:[0-9]{12}:[a-zA-Z0-9_-]+",
      takes: "the ARN of an SNS topic, or nothing",
    },
  },
  {
    name: "AlarmLatenessSeconds",
    group,
    setting: "alarmLatenessSeconds",
    description:
      "The lateness in seconds above which an alarm is raised, when one job in a hundred exceeds it.",
    byDefault: "60",
    values: { kind: "choice", learned: ["5", "10", "30", "60", "120", "300", "900", "3600"] },
  },
  {
    name: "MetricsNamespace",
    group,
    setting: "metricsNamespace",
    description:
      "The CloudWatch namespace of the metrics. Two deployments in one account and region need two.",
    byDefault: "Carillon",
    values: {
      kind: "text",
      learned: ["Namespace/One", "Namespace/Two"],
      pattern: "(?!AWS/)[a-zA-Z0-9_.#:/-]{1,255}",
      takes: "letters, digits and . - _ / # :, and it does not begin with AWS/",
    },
  },
  {
    name: "Stopped",
    group: "Workers and ticks",
    setting: "stopped",
    description:
      "Whether ticks, workers and the queue of commands are stopped, as while a restored database is checked.",
    byDefault: "false",
    values: { kind: "flag" },
  },
  {
    name: "Dashboard",
    group,
    setting: "dashboard",
    description: "Whether to make a dashboard in CloudWatch; three per account are free.",
    byDefault: "true",
    values: { kind: "flag" },
  },
];
