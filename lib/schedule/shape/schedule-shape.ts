import * as z from "zod";
import { canonicalTimezone } from "../../cadence/zone/timezone.ts";
import { type Fault, Refusal } from "../../refusal.ts";
import { type Besides, refusalsOf, together } from "./faults-together.ts";
import { isJson, type Json, jsonFaults } from "./json.ts";
import { jsonForQueues } from "./json-for-queues.ts";
import { pulseSpread, refuseByDelivery, refusePayloadByDelivery } from "./pulse-shape.ts";
import { retryShape } from "./retry-shape.ts";
import type { ScheduleBody } from "./schedule-body.ts";
import { keyShape, tagShape } from "./schedule-key.ts";
import { shapeFaults } from "./shape-faults.ts";
import { targetShape } from "./target-shape.ts";
import { storableText } from "./text.ts";
import {
  durationShape,
  minuteMs,
  refuseContradictions,
  timingShapes,
  whenFaults,
  whenShape,
} from "./timing-shape.ts";

/**
 * The largest payload: the bytes of its JSON in UTF-8, as it is sent. With its envelope and
 * attributes it fits into one message of SQS or EventBridge (256 KB).
 */
export const payloadBytesMax = 240 * 1024;

export const payloadShape = z
  .unknown()
  .default(null)
  .transform((value, context): Json => {
    if (!isJson(value)) {
      for (const fault of jsonFaults(value)) context.addIssue({ code: "custom", ...fault });
      return z.NEVER;
    }
    const bytes = Buffer.byteLength(jsonForQueues(value));
    if (bytes > payloadBytesMax) {
      context.addIssue({
        code: "custom",
        message: `takes at most ${payloadBytesMax} bytes as JSON, has ${bytes}`,
      });
    }
    return value;
  })
  .meta({
    description: `The JSON that the target receives as \`data\`, at most ${payloadBytesMax} bytes.`,
  });

const timezoneShape = z
  .string()
  .default("UTC")
  .transform((name, context) => {
    const canonical = canonicalTimezone(name);
    if (canonical !== null) return canonical;
    context.addIssue({
      code: "custom",
      message: "is not the name of an IANA time zone, such as `Europe/Berlin`",
    });
    return z.NEVER;
  })
  .meta({ description: "The IANA time zone in which `when` is read; kept under its canonical name." });

export const scheduleShape = z.strictObject({
  when: whenShape,
  timezone: timezoneShape,
  target: targetShape,
  payload: payloadShape,
  group: keyShape.nullable().default(null).describe("A label that ties an entity's schedules together."),
  serial: z
    .boolean()
    .default(false)
    .describe(
      "The jobs of the group's serial schedules run one at a time, in the order in which they are due.",
    ),
  priority: z
    .enum(["high", "normal", "low"])
    .default("normal")
    .describe("Ready jobs of a higher priority are handed over first."),
  tags: z
    .array(tagShape)
    .max(50)
    .default([])
    .transform((tags) => [...new Set(tags)])
    .describe("Labels by which schedules are found and held together."),
  description: storableText({ min: 0, max: 1_000 })
    .nullable()
    .default(null)
    .describe("Free text for people."),
  ...timingShapes,
  retry: retryShape.prefault({}).describe("The number of attempts of a job, and the waits between them."),
  timeout: durationShape({ minMs: 100, maxMs: 10 * minuteMs, range: "from 100 ms to 10 minutes" }).default(
    "30s",
  ),
  holdAfter: z
    .int()
    .min(1)
    .max(1_000)
    .nullable()
    .default(null)
    .describe("The number of dead jobs in a row after which the schedule is put on hold."),
  delivery: z
    .enum(["ledger", "pulse"])
    .default("ledger")
    .describe(
      "`ledger`: one durable job per occurrence. `pulse`: no row and no write per occurrence, sent at least once, for intervals of whole seconds and the targets `queue` and `event`.",
    ),
  deleteOnEnd: z
    .boolean()
    .default(false)
    .describe("The schedule is deleted when it has ended, unless its last job is dead."),
  paused: z
    .boolean()
    .optional()
    .describe("True sets the caller's own hold, false releases it; left out, no hold changes."),
});

const plain = scheduleShape.parse({ when: "-", target: { queue: "-" } });

/**
 * Reads a body from parsed JSON. Throws a Refusal that names every fault in it, together with those
 * that `besides` finds. A fault in the `when` alone is found when its cadence is resolved.
 */
export function parseScheduleBody(input: unknown, besides: Besides = () => []): ScheduleBody {
  const read = readFields(input);
  if ("body" in read) return read.body;
  throw withWhen([...read.refusals, ...besides(input)], input);
}

function readFields(input: unknown): { body: ScheduleBody } | { refusals: Refusal[] } {
  const shaped = scheduleShape.safeParse(input, { reportInput: true });
  if (!shaped.success) return { refusals: [notUnderstood(shapeFaults(shaped.error))] };
  const { paused, spread, ...named } = shaped.data;
  const fields = { ...named, spread: spread ?? (named.delivery === "pulse" ? pulseSpread(named) : "0s") };
  const refusals = refusalsOf(
    () => refuseContradictions(fields),
    () => refuseSerialAlone(fields),
    () => refuseByDelivery(fields, plain),
  );
  if (refusals.length > 0) return { refusals };
  return { body: { ...fields, ...(paused === undefined ? {} : { paused }) } };
}

function refuseSerialAlone({ serial, group }: Pick<ScheduleBody, "serial" | "group">): void {
  if (!serial || group !== null) return;
  throw notUnderstood([
    { path: "serial", message: "takes a `group`: the jobs of a group run one at a time" },
  ]);
}

/** These refusals together with that of a `when` that is wrong at any time and with any calendar. */
export function withWhen(refusals: readonly Refusal[], input: unknown): Refusal {
  const faults = whenFaults(input);
  return together(faults.length === 0 ? refusals : [...refusals, notUnderstood(faults)]);
}

export function notUnderstood(faults: readonly Fault[]): Refusal {
  return new Refusal("invalid", "The schedule is not understood.", faults);
}

const payloadAlone = scheduleShape.pick({ payload: true });

/**
 * A body that was read before, with the payload of `input`. The other fields are not checked again.
 */
export function withPayload(body: ScheduleBody, input: unknown): ScheduleBody {
  const shaped = payloadAlone.safeParse(input, { reportInput: true });
  if (!shaped.success) throw notUnderstood(shapeFaults(shaped.error));
  const changed = { ...body, ...shaped.data };
  refusePayloadByDelivery(changed);
  return changed;
}
