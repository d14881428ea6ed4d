import * as z from "zod";
import { costHeader, costText } from "../request/cost.ts";
import { noQuery, type Route, route } from "../request/route.ts";
import type { AnswerDoc, RouteDoc } from "../request/route-doc.ts";
import { operationName } from "./openapi-names.ts";
import { parametersOf } from "./openapi-parameters.ts";
import {
  headersOf,
  problemReference,
  problemResponses,
  problemStatuses,
  replayed,
  requestIdHeader,
} from "./openapi-problems.ts";
import { makeSchemas, type Schemas } from "./openapi-schemas.ts";

/** Equal to the version in package.json; a test checks this. */
export const version = "0.1.0";

const tags: readonly { name: RouteDoc["tag"]; description: string }[] = [
  { name: "Schedules", description: "What should happen, and when." },
  { name: "Jobs", description: "The durable records of occurrences." },
  { name: "Groups and tags", description: "Schedules taken together." },
  { name: "Time", description: "Coming occurrences, and why one ran or did not." },
  { name: "Calendars", description: "Named days off, to which schedules refer." },
  { name: "Limits", description: "How many jobs a target takes at a time." },
  {
    name: "Batch and commands",
    description: "Many changes at once, and commands from the queue and from SQL.",
  },
  { name: "Insight", description: "Counts, lateness and a forecast." },
  { name: "Tokens and audit", description: "Access to the API, and the record of changes." },
  { name: "Moves", description: "Moves of a prefix to another installation." },
  { name: "About", description: "The service itself." },
];

/** The OpenAPI document of the routes, made from the shapes that check their requests. */
export function openApiDocument(routes: readonly Route[]): object {
  const schemas = makeSchemas();
  const paths = new Map<string, Record<string, object>>([["/health", { get: health(schemas) }]]);
  for (const each of routes) {
    const path = each.path.replace("+}", "}");
    paths.set(path, { ...paths.get(path), [each.method.toLowerCase()]: operationOf(each, schemas) });
  }
  const responses = problemResponses(schemas);
  return {
    openapi: "3.1.1",
    info: {
      title: "Carillon",
      version,
      summary: "A serverless scheduler: say what should happen when, and it happens on time, once.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/", description: "The server of this document." }],
    security: [{ token: [] }],
    tags,
    paths: Object.fromEntries(paths),
    components: {
      schemas: schemas.components(),
      responses,
      securitySchemes: {
        token: {
          type: "http",
          scheme: "bearer",
          description: "A token of scope `read`, `write` or `admin`.",
        },
      },
    },
  };
}

function operationOf(each: Route, schemas: Schemas): object {
  const { method, path, scope, doc, cost } = each;
  const needs = `Needs a token of scope \`${scope}\`.`;
  const problems = problemStatuses(each).map((status) => [status, problemReference(status)]);
  const answers = Object.entries(doc.answers).map(([status, answer]) => [
    status,
    responseOf(answer, { schemas, isWrite: method !== "GET", hasCost: cost !== 1 }),
  ]);
  return {
    operationId: doc.operation ?? operationName(method, path),
    summary: doc.summary,
    description: doc.description === undefined ? needs : `${doc.description}\n\n${needs}`,
    tags: [doc.tag],
    "x-carillon-cost": costText(cost),
    parameters: parametersOf(each, schemas),
    ...(doc.body === undefined ? {} : { requestBody: bodyOf(doc.body, schemas) }),
    responses: Object.fromEntries([...answers, ...problems]),
  };
}

function bodyOf(
  { schema, optional = false, example }: NonNullable<RouteDoc["body"]>,
  schemas: Schemas,
): object {
  return {
    required: !optional,
    content: { "application/json": { schema: schemas.of(schema, "input"), example } },
  };
}

function responseOf(
  { what, schema, example, headers = {} }: AnswerDoc,
  { schemas, isWrite, hasCost }: { schemas: Schemas; isWrite: boolean; hasCost: boolean },
): object {
  const content =
    schema === undefined
      ? {}
      : { content: { "application/json": { schema: schemas.of(schema, "output"), example } } };
  return {
    description: what,
    headers: headersOf({
      ...asWritten(headers),
      ...(hasCost ? costSaid : {}),
      ...(isWrite ? replayed : {}),
      ...requestIdHeader,
    }),
    ...content,
  };
}

/** A header of operations that may cost more than one unit. */
const costSaid = { [costHeader]: "The units of the token's rate that the request cost." };

const spellings = new Map([
  ["etag", "ETag"],
  ["location", "Location"],
  ["retry-after", "Retry-After"],
]);

function asWritten(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, what]) => [spellings.get(name) ?? name, what]),
  );
}

/** The handler answers `/health` before routing and authentication, so no route describes it. */
function health(schemas: Schemas): object {
  const schema = schemas.of(z.strictObject({ status: z.literal("ok") }), "output");
  return {
    operationId: "health",
    summary: "Check the API and its database",
    tags: ["About"],
    security: [],
    responses: {
      200: {
        description: "Both answer.",
        headers: headersOf(requestIdHeader),
        content: { "application/json": { schema, example: { status: "ok" } } },
      },
      500: problemReference(500),
      503: problemReference(503),
    },
  };
}

/** The route `GET /v1/openapi.json`; the document describes this route as well. */
export function openApiRoute(others: readonly Route[]): Route {
  let document: object | undefined;
  const own = route({
    method: "GET",
    path: "/v1/openapi.json",
    scope: "read",
    query: noQuery,
    doc: {
      summary: "Read this document",
      operation: "openApi",
      tag: "About",
      answers: {
        200: {
          what: "The OpenAPI 3.1 document, made from the shapes that check requests.",
          schema: z.record(z.string(), z.unknown()),
          example: { openapi: "3.1.1", info: { title: "Carillon", version } },
        },
      },
    },
    answer: async () => {
      document ??= openApiDocument([...others, own]);
      return { status: 200, body: document };
    },
  });
  return own;
}
