import * as z from "zod";
import { pageSchema } from "../request/query.ts";
import type { RouteDoc } from "../request/route-doc.ts";
import { instantText } from "../views/instant-text.ts";
import { examples } from "./openapi-examples.ts";

const limitFields = {
  concurrency: z.int().nullable().describe("So many of its jobs run at the same time; null for no limit."),
  rate: z.string().nullable().describe("So many of its jobs start within a time; null for no limit."),
};

const limitsSchema = z
  .strictObject({
    target: z.string(),
    ...limitFields,
    defined: z.strictObject(limitFields).describe("What the handler's own definition says."),
    setAt: instantText.nullable().describe("When what is in force was set through the API."),
    setBy: z.string().nullable(),
    running: z.int(),
    waiting: z.int().describe("Jobs that are due and wait for a place."),
  })
  .meta({ id: "Limits", description: "What a target may take, and how much of it runs and waits." });

const limits = {
  target: "webhook/api.example.com",
  concurrency: 10,
  rate: "100/s",
  defined: { concurrency: null, rate: null },
  setAt: "2026-12-01T06:00:00.000Z",
  setBy: "ops",
  running: 3,
  waiting: 0,
};

const tag = "Limits";
const etag = { etag: "Their version, for `If-Match`." };
const read = { what: "As they are now.", schema: limitsSchema, example: limits, headers: etag };

export function limitDocs(target: z.ZodType, body: z.ZodType) {
  const parameters = {
    target: {
      what: "The target's name: its kind and what the schedules name, with its slashes percent-encoded or not.",
      schema: target,
      example: limits.target,
    },
  };
  return {
    list: {
      summary: "List the limits of targets",
      description: "Of those that have any, in the order of their names.",
      tag,
      answers: {
        200: {
          what: "A page of them.",
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
        "Both at once: what is left out has no limit. They hold at once, for what waits already as well.",
      parameters,
      tag,
      body: { schema: body, example: { concurrency: 10, rate: "100/s" } },
      headers: ["if-match", "if-none-match"],
      answers: { 200: read },
      problems: [412],
    },
    remove: {
      summary: "Clear a target's limits",
      operation: "deleteLimits",
      description: "What the handler's definition says is in force again.",
      parameters,
      tag,
      headers: ["if-match"],
      answers: { 204: { what: "They are cleared." } },
      problems: [404, 412],
    },
  } satisfies Record<string, RouteDoc>;
}
