import * as z from "zod";
import type { RouteDoc } from "../request/route-doc.ts";
import { explanationSchema } from "../views/explanation-view.ts";
import { instantText } from "../views/instant-text.ts";
import { holdSchema } from "../views/schedule-view.ts";
import { examples } from "./openapi-examples.ts";

const occurrenceFields = {
  occurrences: z.array(instantText),
  details: z.array(
    z.strictObject({
      at: instantText,
      wall: z.string().describe("The time on the clocks of the zone."),
      due: instantText.optional().describe("When the job is due, where `spread` or `slot` moves it."),
      held: z.literal(true).optional().describe("A hold delays it."),
      note: z.string().nullable().describe("The effect of a clock change or a calendar on it."),
    }),
  ),
  timezone: z.string(),
};

const nextSchema = z.strictObject({
  ...occurrenceFields,
  holds: z.array(holdSchema).optional().describe("The current holds, where there are any."),
  heldUntil: instantText
    .nullable()
    .optional()
    .describe("When the last hold ends by itself; null where one has no end."),
});

const previewSchema = z.strictObject({
  ...occurrenceFields,
  cadence: z.string(),
  cadenceText: z.string(),
  warnings: z.array(z.string()),
});

const occurrences = {
  occurrences: ["2026-12-01T09:00:00.000Z"],
  details: [{ at: "2026-12-01T09:00:00.000Z", wall: "2026-12-01 10:00:00", note: null }],
  timezone: "Europe/Berlin",
};

export const nextDoc: RouteDoc = {
  summary: "List a schedule's coming occurrences",
  operation: "nextOccurrences",
  description: "Strictly after `from`; without `from`, occurrences that are not due yet.",
  tag: "Time",
  answers: {
    200: {
      what: "The coming occurrences, up to `n`.",
      schema: nextSchema,
      example: { ...occurrences, holds: [examples.hold], heldUntil: examples.hold.until },
    },
  },
  problems: [404],
};

/** The body is passed in because its shape belongs to the routes. */
export function previewDoc(body: z.ZodType): RouteDoc {
  return {
    summary: "Preview the occurrences of a schedule without saving it",
    operation: "preview",
    description:
      "Takes a schedule's body; `target` is optional. Refuses a body that saving would refuse, and stores nothing.",
    tag: "Time",
    body: {
      schema: body,
      example: { when: ["0 9 * * 1-5", "0 11 * * 6"], timezone: "Europe/Berlin", n: 5 },
    },
    answers: {
      200: {
        what: "The occurrences that the schedule would have.",
        schema: previewSchema,
        example: {
          ...occurrences,
          cadence: "0 9 * * 1-5",
          cadenceText: "At 09:00, Monday to Friday",
          warnings: [],
        },
      },
    },
    problems: [422],
  };
}

export const explainDoc: RouteDoc = {
  summary: "Explain what became of an instant",
  operation: "explain",
  description:
    "Explains in one sentence and in fields why a schedule ran, ran late or did not run at an instant, or what is planned for it. `at` may be cut to whole seconds: within a second of an occurrence, a due time or another job of the schedule it means that one, and `asked` then has the requested instant.",
  tag: "Time",
  answers: {
    200: {
      what: "The explanation.",
      schema: explanationSchema,
      example: {
        key: examples.schedule.key,
        scheduleId: "17",
        at: "2026-12-01T09:00:00.000Z",
        wall: "2026-12-01 10:00:00",
        outcome: "planned",
        sentence: "It is planned to run at 10:00.",
        occurrence: true,
        version: 1,
        cadence: examples.schedule.cadence,
        dueAt: "2026-12-01T09:00:00.000Z",
        nearest: { before: null, after: null },
      },
    },
  },
  problems: [404],
};
