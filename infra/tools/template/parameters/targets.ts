import type { TemplateParameter } from "../parameter.ts";

const group = "Targets of schedules";

const arn = (service: string, resource: string) =>
  `arn:[a-zA-Z0-9_-]+:${service}:[a-zA-Z0-9_-]+:[0-9]{12}:${resource}`;
const list = (item: string) => `${item}(,${item})*`;
/** Lambda's 4 KB of variables hold four such lists and a short one, as the construct counts them. */
const lengthMax = 450;
const shortLengthMax = 200;

const byte = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
const hex = "[0-9a-f]{1,4}";
const network = [
  `${byte}([.]${byte}){3}/(3[0-2]|[12]?[0-9])`,
  `(${hex}:){1,7}:/(12[0-8]|1[01][0-9]|[1-9]?[0-9])`,
].join("|");

// The learned lists have several ARNs, in their order: the CDK sorts the resources of a policy, and
// writes a single one without a list.
const account = "eu-central-1:123456789012";

export const targetsParameters: readonly TemplateParameter[] = [
  {
    name: "TargetQueueArns",
    group,
    setting: "targetQueueArns",
    description:
      "The ARNs of queues that schedules may name; a name may end in *. Empty: names that begin with carillon-target-.",
    byDefault: "",
    values: {
      kind: "text",
      learned: [
        `arn:aws:sqs:${account}:one,arn:aws:sqs:${account}:two-*`,
        `arn:aws:sqs:${account}:five,arn:aws:sqs:${account}:four.fifo,arn:aws:sqs:${account}:six`,
      ],
      pattern: list(arn("sqs", "[a-zA-Z0-9_-]+([.]fifo|[*])?")),
      takes: "ARNs of queues, separated by commas without blanks, or nothing",
      lengthMax,
    },
  },
  {
    name: "TargetBusArns",
    group,
    setting: "targetBusArns",
    description:
      "The ARNs of event buses that schedules may name; a name may end in *. Empty: the default bus.",
    byDefault: "",
    values: {
      kind: "text",
      learned: [
        `arn:aws:events:${account}:event-bus/one,arn:aws:events:${account}:event-bus/two-*`,
        ["four", "six", "two"].map((name) => `arn:aws:events:${account}:event-bus/${name}`).join(","),
      ],
      pattern: list(arn("events", "event-bus/[a-zA-Z0-9_./-]+[*]?")),
      takes: "ARNs of event buses, separated by commas without blanks, or nothing",
      lengthMax,
    },
  },
  {
    name: "TargetEventSources",
    group,
    setting: "targetEventSources",
    description:
      "The sources that events of schedules may have; one may end in *. Empty: carillon, which a list has to name itself.",
    byDefault: "",
    values: {
      kind: "text",
      learned: ["carillon,shop.*", "shop,billing.*,carillon"],
      pattern: list("[a-zA-Z0-9_][a-zA-Z0-9_.:/@-]*[*]?"),
      takes: "sources such as shop or shop.*, separated by commas without blanks, or nothing",
      lengthMax: shortLengthMax,
    },
  },
  {
    name: "TargetFunctionArns",
    group,
    setting: "targetFunctionArns",
    description:
      "The ARNs of functions that schedules may name, each with a * at its end, which also stands for versions. Empty: names that begin with carillon-target-.",
    byDefault: "",
    values: {
      kind: "text",
      // The construct adds versions and aliases to an ARN without a *, which no parameter can.
      learned: [
        `arn:aws:lambda:${account}:function:one*,arn:aws:lambda:${account}:function:two-*`,
        ["four", "six", "two"].map((name) => `arn:aws:lambda:${account}:function:${name}*`).join(","),
      ],
      pattern: list(arn("lambda", "function:[a-zA-Z0-9_-]+[*]")),
      takes: "ARNs of functions that end in *, separated by commas without blanks, or nothing",
      lengthMax,
    },
  },
  {
    name: "WebhookDenyNetworks",
    group,
    setting: "webhookDenyNetworks",
    description:
      "Public networks that webhooks must not reach, separated by commas. Empty: none. Private networks are never reachable.",
    byDefault: "",
    values: {
      kind: "text",
      learned: ["203.0.113.0/24,2001:db8::/32", "198.51.100.0/24"],
      pattern: list(`(${network})`),
      takes:
        "networks such as 203.0.113.0/24 and 2001:db8::/32, separated by commas without blanks, or nothing",
      lengthMax,
    },
  },
];
