import * as z from "zod";
import { jsonValue } from "./ruby-jobs.ts";

/** Whole numbers of 64 bits are texts in the JSON of protobuf. */
const long = z.union([z.int(), z.string().regex(/^\d+$/).transform(Number)]);

/** Durations are texts such as `3600s` or `0.5s`. */
const seconds = z
  .string()
  .regex(/^\d+(\.\d+)?s$/, "takes seconds, such as `3600s`")
  .transform((text) => Number(text.slice(0, -1)));

const instant = z.iso.datetime({ offset: true });

/** Zeroes are left out in the JSON of protobuf. */
const range = z.looseObject({
  start: z.int().default(0),
  end: z.int().default(0),
  step: z.int().default(1),
});

const ranges = z.array(range).default([]);

const structuredCalendar = z.looseObject({
  second: ranges,
  minute: ranges,
  hour: ranges,
  dayOfMonth: ranges,
  month: ranges,
  year: ranges,
  dayOfWeek: ranges,
});

const field = z.string().optional();

const writtenCalendar = z.looseObject({
  second: field,
  minute: field,
  hour: field,
  dayOfMonth: field,
  month: field,
  year: field,
  dayOfWeek: field,
});

export const specShape = z.looseObject({
  structuredCalendar: z.array(structuredCalendar).default([]),
  calendar: z.array(writtenCalendar).default([]),
  cronString: z.array(z.string()).default([]),
  interval: z.array(z.looseObject({ interval: seconds, phase: seconds.default(0) })).default([]),
  excludeStructuredCalendar: z.array(z.unknown()).default([]),
  excludeCalendar: z.array(z.unknown()).default([]),
  startTime: instant.nullish(),
  endTime: instant.nullish(),
  jitter: seconds.default(0),
  timezoneName: z.string().default(""),
  timezoneData: z.string().default(""),
});

const named = z.looseObject({ name: z.string() });

export const scheduleShape = z.looseObject({
  scheduleId: z.string().min(1).optional(),
  schedule: z.looseObject({
    spec: specShape,
    action: z
      .looseObject({
        startWorkflow: z
          .looseObject({
            workflowId: z.string().optional(),
            workflowType: named.optional(),
            taskQueue: named.optional(),
            input: jsonValue.optional(),
            retryPolicy: z.looseObject({}).nullish(),
            memo: z.unknown().optional(),
            searchAttributes: z.unknown().optional(),
          })
          .optional(),
      })
      .optional(),
    policies: z
      .looseObject({
        overlapPolicy: z.union([z.string(), z.int()]).optional(),
        catchupWindow: seconds.optional(),
        pauseOnFailure: z.boolean().default(false),
      })
      .prefault({}),
    state: z
      .looseObject({
        notes: z.string().default(""),
        paused: z.boolean().default(false),
        limitedActions: z.boolean().default(false),
        remainingActions: long.default(0),
      })
      .prefault({}),
  }),
});

export type TemporalSchedule = z.output<typeof scheduleShape>;
export type TemporalSpec = z.output<typeof specShape>;
export type StructuredCalendar = z.output<typeof structuredCalendar>;
export type WrittenCalendar = z.output<typeof writtenCalendar>;
export type TemporalRange = z.output<typeof range>;
