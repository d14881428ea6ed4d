import * as z from "zod";
import { pageSchema } from "../request/query.ts";
import type { RouteDoc } from "../request/route-doc.ts";
import { instantText } from "../views/instant-text.ts";
import { examples } from "./openapi-examples.ts";

const definedFields = {
  concurrency: z.int().nullable().describe("How many of its jobs run at the same time; null for no limit."),
  rate: z.string().nullable().describe("How many of its jobs start per unit of time; null for no limit."),
};

const limitsSchema = z
  .strictObject({
    target: z.string(),
    concurrency: definedFields.concurrency,
    perTeam: z
      .int()
      .nullable()
      .describe("How many of them may be of one team; null where one team may take all places."),
    rate: definedFields.rate,
    defined: z.strictObject(definedFields).describe("The limits in the handler's code."),
    setAt: instantText
      .nullable()
      .describe("When the limits in force were set through the API; null where they were not."),
    setBy: z.string().nullable(),
    running: z.int(),
    waiting: z.int().describe("Due jobs that wait for the limit."),
  })
  .meta({ id: "Limits", description: "The limits of a target, and how many of its jobs run and wait." });

const limits = {
  target: "webhook/api.example.com",
  concurrency: 10,
  perTeam: 4,
  rate: "100/s",
  defined: { concurrency: null, rate: null },
  setAt: "2026-12-01T06:00:00.000Z",
  setBy: "ops",
  running: 3,
  waiting: 0,
};

const tag = "Limits";
const etag = { etag: "The version of the limits, for `If-Match`." };
const read = { what: "The limits.", schema: limitsSchema, example: limits, headers: etag };

export function limitDocs(target: z.ZodType, body: z.ZodType) {
  const parameters = {
    target: {
      what: "The target's name: its kind and the name that schedules use. Slashes may be percent-encoded or not.",
      schema: target,
      example: limits.target,
    },
  };
  return {
    list: {
      summary: "List the limits of targets",
      description: "Targets that have limits, ordered by name.",
      tag,
      answers: {
        200: {
          what: "A page of limits.",
          schema: pageSchema(limitsSchema),
          example: { items: [limits], cursor: examples.cursor },
        },
      },
    },
    get: {
      summary: "Read a target's limits",
      operation: "getLimits",
      parameters,
      tag,
      answers: { 200: read },
      problems: [404],
    },
    put: {
      summary: "Set a target's limits",
      operation: "putLimits",
      description:
        "Replaces all: a limit that is left out is removed. The limits apply at once, also to waiting jobs.",
      parameters,
      tag,
      body: { schema: body, example: { concurrency: 10, perTeam: 4, rate: "100/s" } },
      headers: ["if-match", "if-none-match"],
      answers: { 200: read },
      problems: [412],
    },
    remove: {
      summary: "Clear a target's limits",
      operation: "deleteLimits",
      description: "The limits in the handler's code apply again.",
      parameters,
      tag,
      headers: ["if-match"],
      answers: { 204: { what: "The limits are cleared." } },
      problems: [404, 412],
    },
  } satisfies Record<string, RouteDoc>;
}
