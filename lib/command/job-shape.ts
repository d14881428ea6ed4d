import * as z from "zod";
import type { IfExists } from "../batch/enqueue-job.ts";
import { readDuration } from "../cadence/duration.ts";
import { Refusal } from "../refusal.ts";
import { instantShape } from "../schedule/shape/instant-shape.ts";
import type { ScheduleBody } from "../schedule/shape/schedule-body.ts";
import { keyShape } from "../schedule/shape/schedule-key.ts";
import { parseScheduleBody, scheduleShape } from "../schedule/shape/schedule-shape.ts";
import { shapeFaults } from "../schedule/shape/shape-faults.ts";
import { storableText } from "../schedule/shape/text.ts";

const atForm = "takes an instant such as `2026-12-01T09:00:00Z`, or a time from now such as `in 5m`";

/** The `when` of a job: `at …`, or `in …`, which counts anew whenever it is asked for. */
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

/** What of a schedule has a meaning for a single run. */
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

/** A job without a lasting schedule, as `POST /v1/jobs` takes it. */
export const jobShape = z.strictObject({
  key: keyShape.optional().describe("Of one key one job waits at a time. Without one a key is made."),
  at: atShape.nullish(),
  ifExists: z
    .enum(["replace", "keep", "refuse"])
    .default("replace")
    .describe("What becomes of a job of this key that is not done yet."),
  ...jobFields,
});

export interface JobInput {
  /** The schedule's: given, or made. */
  key: string;
  /** A schedule that runs once and goes by itself. */
  body: ScheduleBody;
  ifExists: IfExists;
}

/** Reads a job as JSON gave it; throws a Refusal that names every fault in it. */
export function readJob(input: unknown, { newKey }: { newKey: () => string }): JobInput {
  const { key, at, ifExists, ...fields } = shaped(jobShape, input);
  const body = parseScheduleBody({ ...fields, when: at ?? now, deleteOnEnd: true });
  return { key: key ?? newKey(), body, ifExists };
}

function shaped<Shape>(schema: z.ZodType<Shape>, input: unknown): Shape {
  const read = schema.safeParse(input, { reportInput: true });
  if (read.success) return read.data;
  throw new Refusal("invalid", "The job is not understood.", shapeFaults(read.error));
}
