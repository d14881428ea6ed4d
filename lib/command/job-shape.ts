import * as z from "zod";
import type { IfExists } from "../batch/enqueue-job.ts";
import { readDuration } from "../cadence/duration.ts";
import { type Fault, Refusal } from "../refusal.ts";
import { type Besides, together } from "../schedule/shape/faults-together.ts";
import { instantShape } from "../schedule/shape/instant-shape.ts";
import type { ScheduleBody } from "../schedule/shape/schedule-body.ts";
import { keyShape } from "../schedule/shape/schedule-key.ts";
import { parseScheduleBody, scheduleShape } from "../schedule/shape/schedule-shape.ts";
import { shapeFaults } from "../schedule/shape/shape-faults.ts";
import { storableText } from "../schedule/shape/text.ts";

const atForm = "takes an instant such as `2026-12-01T09:00:00Z`, or a time from now such as `in 5m`";

/** The `when` of a job: `at …`, or `in …`, which counts from each request. */
const atShape = storableText({ max: 100 })
  .meta({ description: atForm, examples: ["in 5m", "2026-12-01T09:00:00Z"] })
  .transform((text, context): string => {
    const [, duration] = /^\s*in\s+(\S.*?)\s*$/.exec(text) ?? [];
    if (duration === undefined) {
      const instant = instantShape.safeParse(text);
      if (instant.success) return `at ${instant.data.toISOString()}`;
      context.addIssue({ code: "custom", message: atForm });
      return z.NEVER;
    }
    const read = readDuration(duration);
    if (read.ok) return `in ${duration}`;
    context.addIssue({ code: "custom", message: read.message });
    return z.NEVER;
  });

const now = "in 0s";
const { shape: scheduleFields } = scheduleShape;

/** The fields of a schedule that apply to a single run. */
const jobFields = {
  target: scheduleFields.target,
  payload: scheduleFields.payload,
  group: scheduleFields.group,
  serial: scheduleFields.serial,
  priority: scheduleFields.priority,
  tags: scheduleFields.tags,
  description: scheduleFields.description,
  deadline: scheduleFields.deadline,
  retry: scheduleFields.retry,
  timeout: scheduleFields.timeout,
};

/** A job without a lasting schedule, the body of `POST /v1/jobs`. */
export const jobShape = z.strictObject({
  key: keyShape.optional().describe("One job of a key waits at a time. Without a key one is made."),
  at: atShape.nullish(),
  ifExists: z
    .enum(["replace", "keep", "refuse"])
    .default("replace")
    .describe("If a job of this key is not done yet: replace it, keep it, or refuse the request."),
  ...jobFields,
});

export interface JobInput {
  /** The key of the schedule: given, or made. */
  key: string;
  /** A schedule that runs once and is deleted then. */
  body: ScheduleBody;
  ifExists: IfExists;
}

/**
 * Reads a job from JSON. Throws a Refusal that names the faults of all fields, or else those between
 * fields, together with those that `besides` finds.
 */
export function readJob(
  input: unknown,
  { newKey, besides = () => [] }: { newKey: () => string; besides?: Besides },
): JobInput {
  const shaped = jobShape.safeParse(input, { reportInput: true });
  if (!shaped.success) throw together([notUnderstood(shapeFaults(shaped.error)), ...besides(input)]);
  const { key, at, ifExists, ...fields } = shaped.data;
  const body = parseScheduleBody({ ...fields, when: at ?? now, deleteOnEnd: true }, besides);
  return { key: key ?? newKey(), body, ifExists };
}

function notUnderstood(faults: readonly Fault[]): Refusal {
  return new Refusal("invalid", "The job is not understood.", faults);
}
