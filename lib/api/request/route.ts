import * as z from "zod";
import { sqlState } from "../../db/sql-state.ts";
import { Refusal } from "../../refusal.ts";
import type { Caller } from "../../schedule/shape/caller.ts";
import { shapeFaults } from "../../schedule/shape/shape-faults.ts";
import type { Scope, Token } from "../../token/token.ts";
import type { Answer } from "./answer.ts";
import { callerOf } from "./caller.ts";
import { type Charge, type Cost, costHeader, unitsOf } from "./cost.ts";
import type { RequestKind } from "./kinds.ts";
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

interface Head<Path extends string, Query> {
  method: Method;
  path: Path;
  scope: Scope;
  /**
   * Set for what schedules of every prefix share: a token with a prefix is refused. The text names
   * it, as the subject of the refusal.
   */
  everyKey?: string;
  /** Default: a GET reads, the others edit. */
  kind?: RequestKind;
  query: z.ZodType<Query>;
  doc: RouteDoc;
}

export interface RouteSpec<Path extends string, Query> extends Head<Path, Query> {
  /** The units of the token's rate that a request costs. Default: 1. */
  cost?: Cost<Query>;
  answer(call: Call<ParameterOf<Path>, Query>): Promise<Answer>;
}

/** A route whose cost depends on the body, which is therefore read and checked before the work. */
export interface WorkRouteSpec<Path extends string, Query, Asked> extends Head<Path, Query> {
  read(call: Call<ParameterOf<Path>, Query>): Asked;
  cost: Cost<Asked>;
  answer(asked: Asked, call: Call<ParameterOf<Path>, Query>): Promise<Answer>;
}

/** A route as the router sees it, without the types of its parameters and query. */
export interface Route {
  method: Method;
  path: string;
  scope: Scope;
  /** A token with a prefix is refused. */
  needsEveryKey: boolean;
  kind: RequestKind;
  query: z.ZodType;
  doc: RouteDoc;
  cost: Cost<never>;
  /** The charge takes what the request costs beyond the one unit that admitted it. */
  run(
    request: ApiRequest,
    parameters: ReadonlyMap<string, string>,
    token: Token,
    charge: Charge,
  ): Promise<Answer>;
}

export const noQuery = z.strictObject({});

export function route<const Path extends string, Query>(spec: RouteSpec<Path, Query>): Route {
  const { cost = 1, answer } = spec;
  return routed(spec, cost, (call) => ({
    units: unitsOf(cost, call.query),
    answer: () => answer(call),
  }));
}

export function workRoute<const Path extends string, Query, Asked>(
  spec: WorkRouteSpec<Path, Query, Asked>,
): Route {
  const { read, cost, answer } = spec;
  return routed(spec, cost, (call) => {
    const asked = read(call);
    return { units: unitsOf(cost, asked), answer: () => answer(asked, call) };
  });
}

/** A checked request: what it costs, and its work. */
interface Checked {
  units: number;
  answer(): Promise<Answer>;
}

function routed<Path extends string, Query>(
  { method, path, scope, everyKey, kind, query, doc }: Head<Path, Query>,
  cost: Cost<never>,
  check: (call: Call<ParameterOf<Path>, Query>) => Checked,
): Route {
  return {
    method,
    path,
    scope,
    needsEveryKey: everyKey !== undefined,
    kind: kind ?? (method === "GET" ? "read" : "edit"),
    query,
    doc,
    cost,
    run: async (request, parameters, token, charge) => {
      const key = parameters.get("key");
      if (key !== undefined) refuseForeignKey(token, key);
      if (everyKey !== undefined) refusePrefixed(token, everyKey);
      const checked = check({
        parameter: (name) => parameters.get(name) ?? missingParameter(path, name),
        query: readShape(query, request.query, "query"),
        body: () => orElse(request.json(), missingBody),
        optionalBody: () => orElse(request.json(), () => ({})),
        header: request.header,
        token,
        caller: callerOf(token, request),
      });
      return cost === 1 ? checked.answer() : charged(checked, cost, charge);
    },
  };
}

/** Takes the units before the work, and gives back those of a reserve that were not needed. */
async function charged({ units, answer }: Checked, cost: Cost<never>, charge: Charge): Promise<Answer> {
  if (units > 1) await charge.take(units - 1);
  const isReserve = typeof cost !== "number" && cost.isReserve === true;
  const { units: needed = units, ...answered } = await answer().catch(async (error: unknown) => {
    // Without a seat, nothing was done.
    const isUnneeded = (isReserve && error instanceof Refusal) || sqlState(error) === "no_seat";
    if (isUnneeded && units > 1) await charge.giveBack(units - 1);
    throw error;
  });
  const spent = Math.min(units, Math.max(1, needed));
  if (spent < units) await charge.giveBack(units - spent);
  return { ...answered, headers: { ...answered.headers, [costHeader]: String(spent) } };
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
