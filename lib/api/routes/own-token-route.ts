import { Refusal } from "../../refusal.ts";
import { allows, type Token } from "../../token/token.ts";
import { operationName } from "../document/openapi-names.ts";
import type { Operations } from "../operations/operations.ts";
import { noQuery, type Route, route } from "../request/route.ts";
import { type Area, ownTokenExample, ownTokenSchema, ownTokenView } from "../views/own-token-shape.ts";

/** The route `GET /v1/token`; `others` are the routes of which it tells which the caller may use. */
export function ownTokenRoute({ tokens }: Pick<Operations, "tokens">, others: readonly Route[]): Route {
  const own: Route = route({
    method: "GET",
    path: "/v1/token",
    scope: "read",
    query: noQuery,
    doc: {
      summary: "Read the token of this request",
      operation: "getOwnToken",
      description: "Also for callers that the gateway authenticates (`iam`, `jwt`). One row is read.",
      tag: "Tokens and audit",
      answers: {
        200: { what: "The token, and what it may do.", schema: ownTokenSchema, example: ownTokenExample },
      },
    },
    answer: async ({ token }) => {
      const read = await tokens.readOwn(token);
      if (read === null)
        throw new Refusal("unauthorized", "The token of this request was deleted meanwhile.");
      return { status: 200, body: ownTokenView(read, areasOf(read, [...others, own])) };
    },
  });
  return own;
}

function areasOf(token: Token, routes: readonly Route[]): Area[] {
  const allowed = routes.filter(
    ({ scope, needsEveryKey }) => allows(token, scope) && !(needsEveryKey && token.prefix !== null),
  );
  return [...Map.groupBy(allowed, ({ doc }) => doc.tag)].map(([area, those]) => ({
    area,
    operations: those.map(({ method, path, doc }) => ({
      operation: doc.operation ?? operationName(method, path),
      what: doc.summary,
    })),
  }));
}
