import * as z from "zod";
import { storableText } from "./text.ts";

const printableAscii = /^[\x20-\x7e]+$/;

const handlerTarget = z.strictObject({
  handler: z
    .string()
    .regex(
      /^[a-z][a-z0-9-]{0,63}$/,
      "takes lower-case letters, digits and `-`, as the handler's file is named",
    ),
});

const queueForms = [
  /^[A-Za-z0-9_-]{1,80}$/,
  /^[A-Za-z0-9_-]{1,75}\.fifo$/,
  /^arn:aws[a-z-]*:sqs:[a-z0-9-]+:\d{12}:[A-Za-z0-9_-]{1,80}(\.fifo)?$/,
  /^https?:\/\/[A-Za-z0-9.-]+(:\d{1,5})?\/\d{12}\/[A-Za-z0-9_-]{1,80}(\.fifo)?$/,
];

const attributesMax = 10;

const attributes = z
  .record(
    z
      .string()
      .max(256)
      .regex(
        /^(?!aws\.|amazon\.)[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/i,
        "is not a name that SQS takes for an attribute",
      ),
    storableText({ max: 1_000 }).regex(
      /^[^\p{Cc}\uFFFE\uFFFF]*$/u,
      "holds a character that SQS does not take",
    ),
  )
  .refine((value) => Object.keys(value).length <= attributesMax, `takes at most ${attributesMax} attributes`);

const queueTarget = z.strictObject({
  queue: z
    .string()
    .refine(
      (queue) => queueForms.some((form) => form.test(queue)),
      "takes the name, URL or ARN of an SQS queue",
    ),
  groupId: z
    .string()
    .max(128)
    .regex(/^[\x21-\x7e]+$/, "takes letters, digits and punctuation")
    .optional(),
  attributes: attributes.optional(),
});

const eventTarget = z.strictObject({
  event: z.strictObject({
    bus: z
      .string()
      .regex(
        /^([A-Za-z0-9._/-]{1,256}|arn:aws[a-z-]*:events:[a-z0-9-]+:\d{12}:event-bus\/[A-Za-z0-9._/-]{1,256})$/,
        "takes the name or ARN of an event bus",
      )
      .default("default"),
    source: z
      .string()
      .max(256)
      .regex(printableAscii, "takes printable ASCII characters")
      .refine(
        (source) => !source.startsWith("aws."),
        "may not begin with `aws.`, which EventBridge keeps for AWS",
      )
      .default("carillon"),
    detailType: z
      .string()
      .max(128)
      .regex(printableAscii, "takes printable ASCII characters")
      .default("carillon.job.due"),
  }),
});

/** Known by name, so that asking for one is told apart from a slip; their own shapes come with their delivery. */
const webhookTarget = z.strictObject({ webhook: z.looseObject({}) });
const lambdaTarget = z.strictObject({ lambda: z.string(), invocation: z.string().optional() });

export const targetShape = z.union([handlerTarget, eventTarget, queueTarget, webhookTarget, lambdaTarget], {
  error: "takes an object with exactly one of `handler`, `event`, `queue`, `webhook`, `lambda`",
});

type NamedTarget = z.output<typeof targetShape>;

export type HandlerTarget = z.output<typeof handlerTarget>;
export type EventTarget = z.output<typeof eventTarget>;
export type QueueTarget = z.output<typeof queueTarget>;

/** Where a job goes, its defaults filled in. */
export type Target = HandlerTarget | EventTarget | QueueTarget;

/** False for the kinds of target that are named in the contract and not delivered yet. */
export function isDelivered(target: NamedTarget): target is Target {
  return "handler" in target || "event" in target || "queue" in target;
}
