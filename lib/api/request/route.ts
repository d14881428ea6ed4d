import * as z from "zod";
import { Refusal } from "../../refusal.ts";
import type { Caller } from "../../schedule/shape/caller.ts";
import { shapeFaults } from "../../schedule/shape/shape-faults.ts";
import type { Scope, Token } from "../../token/token.ts";
import type { Answer } from "./answer.ts";
import { callerOf } from "./caller.ts";
import { refuseForeignKey, refusePrefixed } from "./reach.ts";
import type { ApiRequest } from "./request.ts";
import type { RouteDoc } from "./route-doc.ts";

export type Method = "GET" | "PUT" | "POST" | "PATCH" | "DELETE";

/**
 * The parameters of a path such as `/v1/schedules/{key}/jobs`; a last one with `+` takes the rest
 * of the path.
 */
type ParameterOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? (Name extends `${infer Base}+` ? Base : Name) | ParameterOf<Rest>
  : never;

/** One request to one route. Everything but the body is read and checked. */
export interface Call<Parameter extends string, Query> {
  parameter(name: Parameter): string;
  query: Query;
  /** The body as JSON; a request without one is refused. */
  body(): unknown;
  /** The body as JSON; an empty object where there is none. */
  optionalBody(): unknown;
  header(name: string): string | undefined;
  token: Token;
  /** The token's name and the origin of the request, for the audit. */
  caller: Caller;
}

export interface RouteSpec<Path extends string, Query> {
  method: Method;
  path: Path;
  scope: Scope;
  /**
   * Set for what schedules of every prefix share: a token with a prefix is refused. The text names
   * it, as the subject of the refusal.
   */
  everyKey?: string;
  query: z.ZodType<Query>;
  doc: RouteDoc;
  answer(call: Call<ParameterOf<Path>, Query>): Promise<Answer>;
}

/** A route as the router sees it, without the types of its parameters and query. */
export interface Route {
  method: Method;
  path: string;
  scope: Scope;
  /** A token with a prefix is refused. */
  needsEveryKey: boolean;
  query: z.ZodType;
  doc: RouteDoc;
  run(request: ApiRequest, parameters: ReadonlyMap<string, string>, token: Token): Promise<Answer>;
}

export const noQuery = z.strictObject({});

export function route<const Path extends string, Query>(spec: RouteSpec<Path, Query>): Route {
  const { method, path, scope, everyKey, query, doc, answer } = spec;
  return {
    method,
    path,
    scope,
    needsEveryKey: everyKey !== undefined,
    query,
    doc,
    run: async (request, parameters, token) => {
      const key = parameters.get("key");
      if (key !== undefined) refuseForeignKey(token, key);
      if (everyKey !== undefined) refusePrefixed(token, everyKey);
      return answer({
        parameter: (name) => parameters.get(name) ?? missingParameter(path, name),
        query: readShape(query, request.query, "query"),
        body: () => orElse(request.json(), missingBody),
        optionalBody: () => orElse(request.json(), () => ({})),
        header: request.header,
        token,
        caller: callerOf(token, request),
      });
    },
  };
}

/** Reads a part of the request by its schema; throws a Refusal that lists every fault. */
export function readShape<Shape>(schema: z.ZodType<Shape>, input: unknown, part: "query" | "body"): Shape {
  const shaped = schema.safeParse(input, { reportInput: true });
  if (shaped.success) return shaped.data;
  throw new Refusal("invalid", `The ${part} is not understood.`, shapeFaults(shaped.error));
}

/** `??` would also replace a body of `null`. */
function orElse(body: unknown, otherwise: () => unknown): unknown {
  return body === undefined ? otherwise() : body;
}

function missingBody(): never {
  throw new Refusal("invalid", "A body is needed: a JSON object.", [{ path: "", message: "is required" }]);
}

function missingParameter(path: string, name: string): never {
  throw new Error(`The route ${path} has no parameter ${name}.`);
}
