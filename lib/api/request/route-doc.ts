import type * as z from "zod";

/** One answer of a route: why it is given, what its body is, and an example of it. */
export interface AnswerDoc {
  what: string;
  schema?: z.ZodType;
  example?: unknown;
  headers?: Readonly<Record<string, string>>;
}

/** A name in braces of a path: what it stands for. */
export interface ParameterDoc {
  what: string;
  schema: z.ZodType;
  example: string;
}

/** What the OpenAPI document says of a route beside what the route itself checks by. */
export interface RouteDoc {
  /** What it does, in a few words: the operation's summary. */
  summary: string;
  /** Its operationId, where the one made of its method and path (`putSchedule`, `listScheduleJobs`) is no good name. */
  operation?: string;
  /** What else a caller must know. */
  description?: string;
  /** Under which heading it stands. */
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
    | "About";
  /** The names in braces of its path, where they are other than what openapi-parameters.ts knows by them. */
  parameters?: Readonly<Record<string, ParameterDoc>>;
  /** The body as it is sent: the schema that reads it. */
  body?: { schema: z.ZodType; optional?: boolean; example: unknown };
  /** Headers it reads, in small letters: if-match, if-none-match. */
  headers?: readonly string[];
  /** What it answers where it does what is asked, by status. */
  answers: Readonly<Record<number, AnswerDoc>>;
  /** Statuses of problems it answers with besides those that every route can: 400, 401, 403, 429, 500, 503. */
  problems?: readonly (404 | 409 | 412 | 413 | 415 | 422 | 428)[];
}
