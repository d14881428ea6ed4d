import * as z from "zod";
import { eventTarget, handlerTarget, lambdaTarget, queueTarget } from "../../schedule/shape/target-shape.ts";
import { instantText } from "./instant-text.ts";

const shownWebhook = z.strictObject({
  webhook: z.strictObject({
    url: z.string().describe("Parameters with credentials read `***`."),
    method: z.enum(["POST", "PUT"]),
    headers: z.record(z.string(), z.string()).describe("Headers with credentials read `***`."),
    secret: z.literal("***").optional(),
    secretHeaders: z.array(z.string()).optional(),
    secretQuery: z.array(z.string()).optional(),
  }),
});

const shownTarget = z
  .union([handlerTarget, eventTarget, queueTarget, shownWebhook, lambdaTarget])
  .meta({ id: "Target", description: "Where a job goes, without its secrets." });

export const unreadableShape = z
  .string()
  .optional()
  .describe(
    "Why the stored schedule cannot be read; absent where it can. Unreadable fields then show their defaults, and no new occurrence is planned.",
  );

const duration = z.string();

/** The fields that schedules and their versions show: defaults filled in, without the payload. */
export const specFields = {
  when: z.union([z.string(), z.array(z.string())]),
  timezone: z.string(),
  target: shownTarget
    .nullable()
    .describe("Null where the stored target cannot be read; `unreadable` then has the reason."),
  group: z.string().nullable(),
  serial: z.boolean(),
  priority: z.enum(["high", "normal", "low"]),
  tags: z.array(z.string()),
  description: z.string().nullable(),
  startsAt: instantText.nullable(),
  endsAt: instantText.nullable(),
  maxFires: z.int().nullable(),
  calendar: z.strictObject({ name: z.string(), on: z.enum(["skip", "next", "previous"]) }).nullable(),
  catchUp: z.strictObject({
    policy: z.enum(["latest", "all", "skip"]),
    within: duration.nullable(),
    limit: z.int(),
  }),
  deadline: duration.nullable(),
  overlap: z.enum(["allow", "skip", "queue"]),
  spread: duration,
  slot: duration.nullable(),
  dst: z
    .strictObject({
      gap: z.enum(["next", "skip"]).optional(),
      overlap: z.enum(["first", "last", "both"]).optional(),
    })
    .nullable(),
  retry: z.strictObject({
    attempts: z.int(),
    backoff: z.enum(["fixed", "linear", "exponential", "list"]),
    base: duration,
    max: duration,
    jitter: z.enum(["full", "none"]),
    delays: z.array(duration).optional(),
  }),
  timeout: duration,
  holdAfter: z.int().nullable(),
  delivery: z.enum(["ledger", "pulse"]),
  deleteOnEnd: z.boolean(),
};
