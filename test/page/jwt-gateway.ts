import type { APIGatewayProxyEventV2 } from "aws-lambda";
import { createRemoteJWKSet, type JWTPayload, jwtVerify } from "jose";
import { audience } from "./own-issuer.ts";

/** The authorizer of an HTTP API: it checks JWTs by the issuer's keys. */
export interface JwtGateway {
  /** Calls the function with the claims of the event's JWT; without a valid one it answers itself. */
  authorized(
    event: APIGatewayProxyEventV2,
    invoke: (event: APIGatewayProxyEventV2) => Promise<unknown>,
  ): Promise<unknown>;
  /** The accepted JWTs in the order of their first use. */
  accepted: ReadonlySet<string>;
  /** From now on refuses every JWT that it has accepted, as if each had expired. */
  refuseAccepted(): void;
}

export function jwtGateway(issuer: string): JwtGateway {
  const keys = createRemoteJWKSet(new URL(`${issuer}/jwks`));
  const accepted = new Set<string>();
  let refused = new Set<string>();
  const claimsOf = async (token: string) => {
    if (refused.has(token)) return null;
    try {
      return (await jwtVerify(token, keys, { issuer, audience })).payload;
    } catch {
      return null;
    }
  };
  return {
    accepted,
    refuseAccepted: () => {
      refused = new Set(accepted);
    },
    authorized: async (event, invoke) => {
      if (event.rawPath === "/health") return invoke(event);
      const token = /^Bearer (.+)$/.exec(event.headers["authorization"] ?? "")?.[1] ?? "";
      const claims = await claimsOf(token);
      if (claims === null) return { statusCode: 401, headers, body: '{"message":"Unauthorized"}' };
      accepted.add(token);
      const jwt = { claims: textsOf(claims), scopes: null };
      const requestContext = { ...event.requestContext, authorizer: { jwt } };
      return invoke({ ...event, requestContext });
    },
  };
}

const headers = { "content-type": "application/json", "www-authenticate": "Bearer" };

/** API Gateway passes each claim as text, and a list as `[one two]`. */
function textsOf(claims: JWTPayload): Record<string, string> {
  return Object.fromEntries(
    Object.entries(claims).map(([name, value]) => [
      name,
      Array.isArray(value) ? `[${value.join(" ")}]` : String(value),
    ]),
  );
}
