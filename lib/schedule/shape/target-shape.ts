import * as z from "zod";
import {
  dueDetailType,
  isReservedDetailType,
  isReservedSource,
  reservedDetailTypeText,
  reservedSourceText,
} from "./event-names.ts";
import { webhookTarget } from "./target-webhook-shape.ts";
import { storableText } from "./text.ts";
import { textRecord } from "./text-record.ts";

/**
 * The limit of the name, URL or ARN of a queue, bus or function. AWS has no longer ones, and an
 * entry in the index of targets is limited to a few thousand bytes.
 */
export const placeLengthMax = 500;

const printableAscii = /^[\x20-\x7e]+$/;

export const handlerTarget = z.strictObject({
  handler: z
    .string()
    .regex(
      /^[a-z][a-z0-9-]{0,63}$/,
      "takes lower-case letters, digits and `-`, as in the name of the handler's file",
    ),
});

const queueForms = [
  /^[A-Za-z0-9_-]{1,80}$/,
  /^[A-Za-z0-9_-]{1,75}\.fifo$/,
  /^arn:aws[a-z-]*:sqs:[a-z0-9-]+:\d{12}:[A-Za-z0-9_-]{1,80}(\.fifo)?$/,
  /^https?:\/\/[A-Za-z0-9.-]+(:\d{1,5})?\/\d{12}\/[A-Za-z0-9_-]{1,80}(\.fifo)?$/,
];

export const attributesMax = 10;
/**
 * The most bytes of all attributes together. With the largest payload and its envelope, they fit
 * into one message.
 */
export const attributeBytesMax = 12_000;

/** The size as SQS counts it: names, types and values. */
export function attributeBytes({
  attributes = {},
}: {
  attributes?: Readonly<Record<string, string>> | undefined;
}): number {
  return Buffer.byteLength(
    Object.entries(attributes)
      .map(([name, value]) => `${name}String${value}`)
      .join(""),
  );
}

const attributes = textRecord(
  z
    .string()
    .max(256)
    .regex(
      /^(?!aws\.|amazon\.)[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/i,
      "is not a name that SQS accepts for an attribute",
    ),
  storableText({ max: 1_000 })
    .regex(/^[^\p{Cc}\uFFFE\uFFFF]*$/u, "holds a character that SQS does not accept")
    .meta({ pattern: "^[^\\u0000-\\u001f\\u007f-\\u009f\\ufffe\\uffff]*$" }),
)
  .refine((value) => Object.keys(value).length <= attributesMax, `takes at most ${attributesMax} attributes`)
  .superRefine((value, context) => {
    const bytes = attributeBytes({ attributes: value });
    if (bytes <= attributeBytesMax) return;
    const message = `take at most ${attributeBytesMax} bytes together, names and types included, and have ${bytes}`;
    context.addIssue({ code: "custom", message });
  })
  .meta({ maxProperties: attributesMax });

/** The most pulses in one message. A message may reach its limit in bytes with fewer. */
const pulsesTogetherMax = 1_000;

export const queueTarget = z
  .strictObject({
    queue: z
      .string()
      .max(placeLengthMax)
      .refine(
        (queue) => queueForms.some((form) => form.test(queue)),
        "takes the name, URL or ARN of an SQS queue",
      )
      .meta({ pattern: queueForms.map(({ source }) => source).join("|") }),
    groupId: z
      .string()
      .max(128)
      .regex(/^[\x21-\x7e]+$/, "takes letters, digits and punctuation")
      .optional(),
    attributes: attributes.optional(),
    batch: z
      .int()
      .min(1)
      .max(pulsesTogetherMax)
      .optional()
      .describe(
        "For pulses: the largest number of pulses due at one second that are sent in one message, as a CloudEvents batch (a JSON array). Not for a FIFO queue.",
      ),
  })
  .refine(({ queue, batch }) => batch === undefined || !queue.endsWith(".fifo"), {
    path: ["batch"],
    error: "is not for a FIFO queue, in which each schedule has its own order",
  })
  .refine(
    ({ batch, attributes: own = {} }) =>
      batch === undefined || (Object.keys(own).length < attributesMax && !Object.hasOwn(own, "content-type")),
    {
      path: ["attributes"],
      error: `of batches takes at most ${attributesMax - 1} attributes, and none named \`content-type\`, which marks the batch`,
    },
  );

export const eventTarget = z.strictObject({
  event: z.strictObject({
    bus: z
      .string()
      .max(placeLengthMax)
      .regex(
        /^([A-Za-z0-9._/-]{1,256}|arn:aws[a-z-]*:events:[a-z0-9-]+:\d{12}:event-bus\/[A-Za-z0-9._/-]{1,256})$/,
        "takes the name or ARN of an event bus",
      )
      .default("default"),
    source: z
      .string()
      .max(256)
      .regex(printableAscii, "takes printable ASCII characters")
      .refine((source) => !isReservedSource(source), reservedSourceText)
      .describe("One of the sources that the deployment allows.")
      .default("carillon"),
    detailType: z
      .string()
      .max(128)
      .regex(printableAscii, "takes printable ASCII characters")
      .refine((detailType) => !isReservedDetailType(detailType), reservedDetailTypeText)
      .describe("Types that begin with `carillon.` are reserved, except the default.")
      .default(dueDetailType),
  }),
});

const functionForm =
  /^(arn:aws[a-z-]*:lambda:[a-z0-9-]+:\d{12}:function:)?[A-Za-z0-9_-]{1,64}(:(\$LATEST|[A-Za-z0-9_-]{1,128}))?$/;

export const lambdaTarget = z.strictObject({
  lambda: z
    .string()
    .max(placeLengthMax)
    .regex(functionForm, "takes the name or ARN of a Lambda function, with an alias or a version if wanted"),
  /**
   * `async` hands the job to Lambda's own queue. `sync` waits for the function, and its error
   * becomes that of the attempt.
   */
  invocation: z.enum(["async", "sync"]).default("async"),
});

export const targetShape = z
  .union([handlerTarget, eventTarget, queueTarget, webhookTarget, lambdaTarget], {
    error: "takes an object with exactly one of `handler`, `event`, `queue`, `webhook`, `lambda`",
  })
  .meta({ id: "TargetInput", description: "Where a job goes." });

export type HandlerTarget = z.output<typeof handlerTarget>;
export type EventTarget = z.output<typeof eventTarget>;
export type QueueTarget = z.output<typeof queueTarget>;
export type LambdaTarget = z.output<typeof lambdaTarget>;

/** The target of a job, with defaults filled in. */
export type Target = z.output<typeof targetShape>;
