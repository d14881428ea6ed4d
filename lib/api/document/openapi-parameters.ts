import * as z from "zod";
import { keyShape } from "../../schedule/shape/schedule-key.ts";
import type { Route } from "../request/route.ts";
import type { ParameterDoc } from "../request/route-doc.ts";
import type { JsonSchema, Schemas } from "./openapi-schemas.ts";

interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  required?: boolean;
  description?: string;
  schema: JsonSchema;
  example?: string;
}

/** Path parameters that have the same meaning in every path. */
const known: Readonly<Record<string, ParameterDoc>> = {
  key: { what: "The key of a schedule, percent-encoded.", schema: keyShape, example: "order:1234:unshipped" },
  name: {
    what: "A name, percent-encoded. It follows the rules of keys.",
    schema: keyShape,
    example: "orders",
  },
  id: { what: "An id from an answer.", schema: z.string().min(1), example: "17-1796115600000-c0" },
  n: { what: "A version.", schema: z.int().min(1).max(999_999_999), example: "2" },
};

const entityTags = '"([!#-~]|[^ -~])*"';

/** Request headers that a route may read, by their lower-case names. */
const headers: Readonly<Record<string, { name: string; what: string; schema: z.ZodType }>> = {
  "if-match": {
    name: "If-Match",
    what: 'The versions that are accepted, as entity tags (`"3"`), or `*` for any: 412 otherwise.',
    schema: z.string().regex(new RegExp(`^\\s*(\\*|(W/)?${entityTags}(\\s*,\\s*(W/)?${entityTags})*)\\s*$`)),
  },
  "if-none-match": {
    name: "If-None-Match",
    what: "`*`: only if it does not exist yet, 412 otherwise.",
    schema: z.literal("*"),
  },
};

/** A header of every method that writes. */
const idempotencyKey = {
  name: "Idempotency-Key",
  in: "header",
  description:
    "A request with the same key is carried out once within a day; a repeated request gets the stored answer.",
  schema: z.string().regex(/^[\x20-\x7e]{1,255}$/),
} as const;

export function parametersOf({ method, path, query, doc }: Route, schemas: Schemas): Parameter[] {
  const named = [...path.matchAll(/\{(\w+)\+?\}/g)].map(([, name = ""]) =>
    pathParameter(name, doc.parameters?.[name] ?? known[name], schemas),
  );
  const read = (doc.headers ?? []).map((name) => headerParameter(name, schemas));
  const keyed =
    method === "GET" ? [] : [{ ...idempotencyKey, schema: schemas.of(idempotencyKey.schema, "input") }];
  return [...named, ...queryParameters(query, schemas), ...read, ...keyed];
}

function pathParameter(name: string, doc: ParameterDoc | undefined, schemas: Schemas): Parameter {
  if (doc === undefined) throw new Error(`The path parameter {${name}} is not documented.`);
  const { what, schema, example } = doc;
  return {
    name,
    in: "path",
    required: true,
    description: what,
    schema: schemas.of(schema, "input"),
    example,
  };
}

function queryParameters(query: z.ZodType, schemas: Schemas): Parameter[] {
  const { properties = {}, required = [] } = schemas.of(query, "input");
  return Object.entries(properties).map(([name, schema]) => {
    if (typeof schema === "boolean") throw new Error(`The query parameter ${name} has no schema.`);
    const { description, ...rest } = schema;
    return {
      name,
      in: "query",
      ...(required.includes(name) ? { required: true } : {}),
      ...(description === undefined ? {} : { description }),
      schema: rest,
    };
  });
}

function headerParameter(name: string, schemas: Schemas): Parameter {
  const header = headers[name];
  if (header === undefined) throw new Error(`The header ${name} is not documented.`);
  return {
    name: header.name,
    in: "header",
    description: header.what,
    schema: schemas.of(header.schema, "input"),
  };
}
