import type * as z from "zod";

/** One answer of a route: its meaning, the schema of its body, and an example. */
export interface AnswerDoc {
  what: string;
  schema?: z.ZodType;
  example?: unknown;
  headers?: Readonly<Record<string, string>>;
}

/** A path parameter: its meaning, its schema and an example. */
export interface ParameterDoc {
  what: string;
  schema: z.ZodType;
  example: string;
}

/**
 * The documentation of a route in the OpenAPI document, beside the shapes that the route checks.
 */
export interface RouteDoc {
  /** The operation's summary, in a few words. */
  summary: string;
  /**
   * The operationId, where the one made of method and path (`putSchedule`, `listScheduleJobs`)
   * reads badly.
   */
  operation?: string;
  /** Further facts that a caller needs. */
  description?: string;
  /** The heading of the operation. */
  tag:
    | "Schedules"
    | "Jobs"
    | "Groups and tags"
    | "Time"
    | "Calendars"
    | "Limits"
    | "Batch and commands"
    | "Insight"
    | "Tokens and audit"
    | "Moves"
    | "About";
  /** Path parameters that openapi-parameters.ts does not know, or that mean something else here. */
  parameters?: Readonly<Record<string, ParameterDoc>>;
  /** The schema that reads the body. */
  body?: { schema: z.ZodType; optional?: boolean; example: unknown };
  /** Headers that the route reads, in lower case: if-match, if-none-match. */
  headers?: readonly string[];
  /** The answers on success, by status. */
  answers: Readonly<Record<number, AnswerDoc>>;
  /** Statuses of problems beyond those of every route: 400, 401, 403, 429, 500, 503. */
  problems?: readonly (404 | 409 | 412 | 413 | 415 | 422 | 428)[];
}
