import { requestSeat } from "../../db/request-seat.ts";
import { allows, type Token } from "../../token/token.ts";
import type { Answer } from "./answer.ts";
import type { Charge } from "./cost.ts";
import { inTime } from "./in-time.ts";
import { type RequestLimits, requestLimits } from "./kinds.ts";
import { forbidden, Problem } from "./problem.ts";
import { type ApiRequest, decodedSegment } from "./request.ts";
import type { Route } from "./route.ts";

export interface RouterOptions {
  limits?: RequestLimits | undefined;
  /** How many requests of one team may use the database at a time; null for half of the API's connections. */
  requestsPerTeam?: number | null | undefined;
}

/**
 * Finds the route of a request. Throws 404 for an unknown path, 405 for another method, 403 for a
 * token without the scope.
 */
export function makeRouter(
  routes: readonly Route[],
  { limits = requestLimits, requestsPerTeam = null }: RouterOptions = {},
): (request: ApiRequest, token: Token, charge: Charge) => () => Promise<Answer> {
  const table = routes.map((route) => ({ route, pattern: route.path.split("/").slice(1) }));
  return (request, token, charge) => {
    const here = table.flatMap(({ route, pattern }) => {
      const parameters = matched(pattern, request.segments);
      return parameters === null ? [] : [{ route, parameters }];
    });
    if (here.length === 0) throw new Problem("missing", "This path does not exist.");
    const found = here.find(({ route }) => route.method === request.method);
    if (found === undefined) throw notAllowed(here.map(({ route }) => route.method));
    const { route, parameters } = found;
    if (!allows(token, route.scope))
      throw forbidden(`This request needs a token of scope ${route.scope}; yours has ${token.scope}.`);
    const seat = token.team === null ? undefined : requestSeat(token.team, requestsPerTeam);
    return () => inTime(route, { limits, seat }, () => route.run(request, parameters, token, charge));
  };
}

export function notAllowed(methods: readonly string[]): Problem {
  const allow = [...methods].sort().join(", ");
  return new Problem("method-not-allowed", `This path allows ${allow}.`, { allow });
}

function matched(
  pattern: readonly string[],
  segments: readonly string[],
): ReadonlyMap<string, string> | null {
  const rest = /^\{(\w+)\+\}$/.exec(pattern.at(-1) ?? "")?.[1];
  if (rest !== undefined) return matchedWithRest(pattern.slice(0, -1), segments, rest);
  if (pattern.length !== segments.length) return null;
  const parameters = new Map<string, string>();
  for (const [index, part] of pattern.entries()) {
    const segment = segments[index] ?? "";
    const name = /^\{(\w+)\}$/.exec(part)?.[1];
    if (name === undefined ? part !== segment : segment === "") return null;
    if (name !== undefined) parameters.set(name, decodedSegment(segment));
  }
  return parameters;
}

/** A last parameter such as `{target+}` takes the rest of the path, with its slashes. */
function matchedWithRest(
  pattern: readonly string[],
  segments: readonly string[],
  name: string,
): ReadonlyMap<string, string> | null {
  const before = matched(pattern, segments.slice(0, pattern.length));
  const rest = segments.slice(pattern.length).map(decodedSegment).join("/");
  return before === null || rest === "" ? null : new Map([...before, [name, rest]]);
}
