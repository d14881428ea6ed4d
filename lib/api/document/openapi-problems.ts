import { type ProblemKind, problemDocument, problemKinds, problemSchema } from "../request/problem.ts";
import type { Route } from "../request/route.ts";
import type { JsonSchema, Schemas } from "./openapi-schemas.ts";

/** Statuses that every operation can answer with. */
const everywhere = [400, 401, 403, 429, 500, 503];
/**
 * The problems of an Idempotency-Key: 409 while its request is under way, 422 if the key was sent
 * before with another request.
 */
const ofWrites = [409, 422];
const ofBodies = [413, 415];
/** 422 if the count takes too long. */
const ofCounts = [422];

const requestId = "0b6f9a1e-5f0e-4a53-9d0c-4f0a7f5e3a11";

interface ProblemSaid {
  what: string;
  detail: string;
  headers?: Readonly<Record<string, string>>;
  faults?: readonly { path: string; message: string }[];
}

const retryAfter = { "Retry-After": "The number of seconds to wait before a retry." };
export const replayed = {
  "Idempotent-Replayed": "`true`: the request was answered before, and this is the stored answer.",
};
/** The header of every answer. */
export const requestIdHeader = { "Request-Id": "The id of the request, under which the log has it." };
const challenge = { "WWW-Authenticate": "How to authenticate." };

const documented: Readonly<Record<Exclude<ProblemKind, "method-not-allowed" | "quota">, ProblemSaid>> = {
  invalid: {
    what: "The path, the query, a header or the body is invalid. `errors` lists every fault.",
    detail: "The schedule is not understood.",
    faults: [{ path: "target.queue", message: "takes the name, URL or ARN of an SQS queue" }],
  },
  unauthorized: {
    what: "The token is missing, unknown or expired.",
    detail: "The token is unknown or has expired.",
    headers: challenge,
  },
  forbidden: {
    what: "The token's scope, or its prefix, does not allow this.",
    detail: "This request needs a token of scope write; yours has read.",
    headers: challenge,
  },
  missing: {
    what: "The resource does not exist, or the token does not reach it.",
    detail: "There is no schedule hello.",
    headers: replayed,
  },
  conflict: {
    what: "The request conflicts with the current state, or a request with the same Idempotency-Key is under way.",
    detail: 'The schedule "hello" exists already.',
    headers: { ...retryAfter, ...replayed },
  },
  precondition: {
    what: "The condition in `If-Match` or `If-None-Match` is not met.",
    detail: 'The schedule "hello" is at version 4.',
    headers: replayed,
  },
  "too-large": {
    what: "The body is too large, or has too many values.",
    detail: "The body has 6000000 bytes; at most 5242880 are allowed.",
  },
  "media-type": {
    what: "The body is not JSON in UTF-8, or is compressed.",
    detail: 'The body is sent as "text/plain"; send JSON as application/json.',
  },
  impossible: {
    what: "The request is valid but not possible in this deployment, its Idempotency-Key was sent with another request, or a quota has no room for it (`urn:carillon:problem:quota`).",
    detail: "The schedule is not possible in this deployment.",
    headers: replayed,
  },
  "precondition-required": {
    what: "The deployment requires `If-Match` or `If-None-Match` on this request.",
    detail: "Send If-Match with the ETag that you have read.",
  },
  "too-many": {
    what: "A rate of the token is used up, or requests of its prefix use all connections that one prefix may have at a time.",
    detail: "The token's rate is used up; try again in 4 s.",
    headers: retryAfter,
  },
  internal: {
    what: "An unexpected error. The log has the cause under the `requestId`.",
    detail: "An unexpected error occurred; the log has the cause.",
  },
  unavailable: {
    what: "The database does not answer at the moment.",
    detail: "The database does not answer at the moment; try again.",
    headers: retryAfter,
  },
};

export function problemStatuses({ method, kind, doc }: Pick<Route, "method" | "kind" | "doc">): number[] {
  const statuses = [
    ...everywhere,
    ...(doc.problems ?? []),
    ...(doc.body === undefined ? [] : ofBodies),
    ...(method === "GET" ? [] : ofWrites),
    ...(kind === "count" ? ofCounts : []),
  ];
  return [...new Set(statuses)].sort((a, b) => a - b);
}

/** The problem answers that operations share, by the names of their components. */
export function problemResponses(schemas: Schemas): Record<string, object> {
  const schema = schemas.of(problemSchema, "output");
  return Object.fromEntries(
    Object.entries(documented).map(([kind, problem]) => [
      responseName(kind),
      responseOf(kind, problem, schema),
    ]),
  );
}

export function problemReference(status: number): object {
  const kind = Object.keys(documented).find((each) => statusOf(each) === status);
  if (kind === undefined) throw new Error(`No problem has the status ${status}.`);
  return { $ref: `#/components/responses/${responseName(kind)}` };
}

function responseOf(kind: string, { what, detail, headers = {}, faults }: ProblemSaid, schema: JsonSchema) {
  return {
    description: what,
    headers: headersOf({ ...headers, ...requestIdHeader }),
    content: {
      "application/problem+json": {
        schema,
        example: problemDocument(kindNamed(kind), {
          detail,
          ...(faults === undefined ? {} : { faults }),
          requestId,
        }),
      },
    },
  };
}

export function headersOf(headers: Readonly<Record<string, string>>): Record<string, object> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [name, { description, schema: { type: "string" } }]),
  );
}

function kindNamed(name: string): ProblemKind {
  const kind = problemKinds.find((each) => each === name);
  if (kind === undefined) throw new Error(`There is no problem ${name}.`);
  return kind;
}

function statusOf(kind: string): number {
  return problemDocument(kindNamed(kind), { detail: "" }).status;
}

/** `too-large` is `TooLarge`. */
function responseName(kind: string): string {
  return kind.replace(/(^|-)(\w)/g, (_, __, letter: string) => letter.toUpperCase());
}
