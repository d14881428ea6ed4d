import * as z from "zod";

const parameter = z.object({
  in: z.enum(["path", "query", "header"]),
  name: z.string(),
  required: z.boolean().default(false),
  example: z.unknown().optional(),
});

export type Scope = "read" | "write" | "admin";

const documentShape = z.object({
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.object({
        description: z.string().default(""),
        parameters: z.array(parameter).default([]),
        requestBody: z
          .object({
            content: z.object({ "application/json": z.object({ example: z.unknown() }) }),
          })
          .optional(),
      }),
    ),
  ),
});

/** An operation of the API, as the OpenAPI document describes it. */
export interface Operation {
  method: string;
  /** With its parameters in braces. */
  path: string;
  scope: Scope;
  queries: readonly { name: string; required: boolean }[];
  /** Values of the path's parameters that the document shows. */
  shown: Readonly<Record<string, string>>;
  /** A body that the document shows; undefined for an operation without one. */
  example: unknown;
}

/** The operations of the document, and the names of all fields of their examples. */
export function operationsOf(document: unknown): { operations: Operation[]; names: string[] } {
  const { paths } = documentShape.parse(document);
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { description, parameters, requestBody }]) => ({
      method: method.toUpperCase(),
      path,
      scope: scopeIn(description),
      queries: parameters.filter((each) => each.in === "query"),
      shown: Object.fromEntries(
        parameters.filter((each) => each.in === "path").map(({ name, example }) => [name, String(example)]),
      ),
      example: requestBody?.content["application/json"].example,
    })),
  );
  const names = new Set(["__proto__", "constructor", "toString"]);
  for (const { example } of operations) collectNames(example, names);
  return { operations, names: [...names] };
}

function scopeIn(description: string): Scope {
  const [, scope] = /Needs a token of scope `(write|admin)`/.exec(description) ?? [];
  return scope === "write" || scope === "admin" ? scope : "read";
}

function collectNames(value: unknown, names: Set<string>): void {
  if (typeof value !== "object" || value === null) return;
  for (const [name, inner] of Object.entries(value)) {
    if (!Array.isArray(value)) names.add(name);
    collectNames(inner, names);
  }
}
