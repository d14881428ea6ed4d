import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import * as z from "zod";
import { openApiDocument } from "../../lib/api/document/openapi.ts";
import { apiRoutes } from "../../lib/api/handler.ts";
import type { Operations } from "../../lib/api/operations/operations.ts";

/** A request and its answer, as sent over HTTP. */
export interface Exchange {
  method: string;
  /** Decoded or encoded. */
  path: string;
  query: string;
  headers: Readonly<Record<string, string | undefined>>;
  body: unknown;
  answer: { status: number; headers: Readonly<Record<string, string>>; body: string; json: unknown };
}

const parameterShape = z.looseObject({
  name: z.string(),
  in: z.enum(["path", "query", "header"]),
  required: z.boolean().default(false),
  schema: z.looseObject({}),
});

const mediaShape = z.looseObject({ schema: z.looseObject({}), example: z.unknown() });

const responseShape = z.looseObject({
  $ref: z.string().optional(),
  headers: z.record(z.string(), z.unknown()).default({}),
  content: z.record(z.string(), mediaShape).default({}),
});

const operationShape = z.looseObject({
  operationId: z.string(),
  parameters: z.array(parameterShape).default([]),
  requestBody: z.looseObject({ required: z.boolean(), content: z.record(z.string(), mediaShape) }).optional(),
  responses: z.record(z.string(), responseShape),
});

const documentShape = z.looseObject({
  openapi: z.string(),
  info: z.looseObject({ version: z.string() }),
  paths: z.record(z.string(), z.record(z.string(), operationShape)),
  components: z.looseObject({
    schemas: z.record(z.string(), z.unknown()),
    responses: z.record(z.string(), responseShape),
  }),
});

export type Operation = z.output<typeof operationShape>;
type Response = z.output<typeof responseShape>;

/** The document is made from the shapes of the routes, so no operation is called. */
const noOperations: Operations = Object.create(null);

export const routes = apiRoutes(noOperations);

export const document: z.output<typeof documentShape> = documentShape.parse(
  JSON.parse(JSON.stringify(openApiDocument(routes))),
);

const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);
ajv.addSchema(document, "openapi.json");
const compiled = new Map<object, ValidateFunction>();

/** The fault of a value against a schema of the document; null for none. */
export function schemaFault(schema: object, value: unknown): string | null {
  let validate = compiled.get(schema);
  if (validate === undefined) {
    validate = ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"openapi.json#/')));
    compiled.set(schema, validate);
  }
  return validate(value) ? null : ajv.errorsText(validate.errors, { dataVar: "" });
}

interface Found {
  template: string;
  operation: Operation;
  parameters: ReadonlyMap<string, string>;
}

/** Paths whose last parameter takes the rest, with its slashes. */
const takesTheRest: ReadonlySet<string> = new Set(["/v1/limits/{target}"]);

const templates = Object.keys(document.paths).map((template) => ({ template, parts: template.split("/") }));

export function findOperation(method: string, path: string): Found | null {
  const segments = path.split("/").map(decoded);
  for (const { template, parts } of templates) {
    const operation = document.paths[template]?.[method.toLowerCase()];
    const parameters = matched(parts, segments, takesTheRest.has(template));
    if (operation !== undefined && parameters !== null) return { template, operation, parameters };
  }
  return null;
}

function matched(
  parts: readonly string[],
  segments: readonly string[],
  takesRest: boolean,
): ReadonlyMap<string, string> | null {
  if (takesRest ? segments.length < parts.length : segments.length !== parts.length) return null;
  const parameters = new Map<string, string>();
  for (const [index, part] of parts.entries()) {
    const isLast = index === parts.length - 1;
    const segment = isLast ? segments.slice(index).join("/") : (segments[index] ?? "");
    const name = /^\{(\w+)\}$/.exec(part)?.[1];
    if (name === undefined ? part !== segment : segment === "") return null;
    if (name !== undefined) parameters.set(name, segment);
  }
  return parameters;
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** The response itself, also where the operation refers to a shared one. */
export function responseOf(response: Response): Response {
  const name = response.$ref?.split("/").at(-1);
  const shared = name === undefined ? response : document.components.responses[name];
  if (shared === undefined) throw new Error(`The document has no response ${name}.`);
  return shared;
}

/** Headers that every answer may carry, and those of paths outside the document. */
const unspoken: ReadonlySet<string> = new Set([
  "cache-control",
  "content-type",
  "x-content-type-options",
  "www-authenticate",
  "allow",
  // CORS headers, which no operation documents.
  "vary",
  "access-control-allow-origin",
  "access-control-expose-headers",
]);

/**
 * Throws where an exchange contradicts the document. Returns its name: `PUT /v1/schedules/{key}
 * 201`.
 */
export function checkExchange(exchange: Exchange): string | null {
  const { method, path, answer } = exchange;
  const found = findOperation(method, path);
  if (found === null && method === "OPTIONS" && answer.status === 204) return null;
  if (found === null) {
    const isProblem = [400, 401, 403, 404, 405, 429, 500, 503].includes(answer.status);
    if (!isProblem)
      throw new Error(`${method} ${path} answered ${answer.status} and is not in the document.`);
    return null;
  }
  const name = `${method} ${found.template} ${answer.status}`;
  const faults = [...answerFaults(found.operation, answer)];
  // Health probes may send any query, because it is not read.
  if (answer.status < 400 && found.template !== "/health") faults.push(...requestFaults(found, exchange));
  if (faults.length > 0) throw new Error(`${name} is not as the document says: ${faults.join("; ")}.`);
  return name;
}

function answerFaults(operation: Operation, answer: Exchange["answer"]): string[] {
  const said = operation.responses[String(answer.status)];
  if (said === undefined) return ["the status is not documented"];
  const response = responseOf(said);
  const documented = new Set(Object.keys(response.headers).map((name) => name.toLowerCase()));
  const headers = Object.keys(answer.headers)
    .filter((header) => !unspoken.has(header) && !documented.has(header))
    .map((header) => `the header ${header} is not documented`);
  const [type] = Object.keys(response.content);
  if (type === undefined) return answer.body === "" ? headers : [...headers, "there is a body"];
  if (answer.headers["content-type"] !== type)
    return [...headers, `the body is ${answer.headers["content-type"]}`];
  const fault = schemaFault(response.content[type]?.schema ?? {}, answer.json);
  return fault === null ? headers : [...headers, `the answer${fault}`];
}

/** Checks an accepted request. */
function requestFaults({ operation, parameters }: Found, { query, headers, body }: Exchange): string[] {
  const given = {
    path: parameters,
    query: new Map(new URLSearchParams(query)),
    header: new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
  };
  const known = new Set(operation.parameters.map((each) => `${each.in} ${each.name}`));
  const unknown = [...given.query.keys()].filter((name) => !known.has(`query ${name}`));
  const wrong = operation.parameters.flatMap((each) => {
    const value: string | undefined = given[each.in].get(
      each.in === "header" ? each.name.toLowerCase() : each.name,
    );
    if (value === undefined) return each.required ? [`${each.name} is missing`] : [];
    const fault = schemaFault(each.schema, typed(each.schema, value));
    return fault === null ? [] : [`the ${each.in} parameter ${each.name}${fault}`];
  });
  return [
    ...unknown.map((name) => `the query parameter ${name} is not documented`),
    ...wrong,
    ...bodyFaults(operation, body),
  ];
}

function bodyFaults({ requestBody }: Operation, body: unknown): string[] {
  const sent = typeof body === "string" ? parsed(body) : body;
  if (sent === undefined) return requestBody?.required === true ? ["the body is missing"] : [];
  const media = requestBody?.content["application/json"];
  // A body without a documented schema is not read.
  const fault = media === undefined ? null : schemaFault(media.schema, JSON.parse(JSON.stringify(sent)));
  return fault === null ? [] : [`the body${fault}`];
}

/** The body as JSON; undefined if it is not JSON, which some tests send on purpose. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function typed(schema: object, value: string): unknown {
  const isNumber = "type" in schema && (schema.type === "integer" || schema.type === "number");
  return isNumber && /^\d+$/.test(value) ? Number(value) : value;
}
