import * as z from "zod";
import { instantShape } from "../../schedule/shape/instant-shape.ts";
import { keyShape } from "../../schedule/shape/schedule-key.ts";
import { storableText } from "../../schedule/shape/text.ts";
import { pageQuery } from "./query.ts";

export const targetFilter = z
  .string()
  .regex(
    /^(handler|event|queue|webhook|lambda)(\/[^\p{Cc}\p{Cs}]{1,500})?$/u,
    "takes a kind of target, such as `webhook`, or one by its name, such as `webhook/api.example.com`",
  )
  // The same pattern for tools that do not know Unicode classes.
  .meta({ pattern: "^(handler|event|queue|webhook|lambda)(/[^\\u0000-\\u001f\\u007f-\\u009f]{1,500})?$" })
  .describe("A kind of target, such as `webhook`, or one by its name, such as `webhook/api.example.com`.");

/** The fields of a filter that have the same form in a query and in a body. */
export const filterFields = {
  prefix: storableText({ max: 255 }).optional().describe("Keys that begin with this."),
  group: keyShape.optional().describe("One group."),
  tag: keyShape.optional().describe("One tag."),
  state: z.enum(["active", "paused", "ended"]).optional().describe("The schedule's state."),
  target: targetFilter.optional(),
  createdBy: storableText({ max: 200 }).optional().describe("The token that created it, by its name."),
  calendar: keyShape.optional().describe("The calendar that it uses, by its name."),
  nextFrom: instantShape
    .optional()
    .describe(
      "Schedules whose next job is due at this instant or later, and not before now. With `spread` or `slot`, the due time lies after `nextAt`.",
    ),
  nextTo: instantShape.optional().describe("Schedules whose next job is due before this instant."),
};

export const failingText = "Schedules with a dead job whose newest due job has not succeeded since.";

const filterQuery = {
  ...filterFields,
  failing: z
    .literal("true", { error: "takes `true`" })
    .transform(() => true)
    .optional()
    .describe(failingText),
};

export const isForward = ({ nextFrom, nextTo }: { nextFrom?: Date | undefined; nextTo?: Date | undefined }) =>
  nextFrom === undefined || nextTo === undefined || nextFrom < nextTo;

export const backward = { path: ["nextTo"], error: "must lie after `nextFrom`" };

export const countQuery = z.strictObject(filterQuery).refine(isForward, backward);

export const listQuery = z.strictObject({ ...filterQuery, ...pageQuery }).refine(isForward, backward);
